"""mem0's own client against our paths, unchanged but for its host; and the paths of its own server."""

import asyncio
import logging
import os

import httpx
from mem0 import AsyncMemoryClient, MemoryClient
from mem0.exceptions import MemoryError as Mem0Error
from story import check

# What is refused on purpose is not worth a line.
logging.disable(logging.CRITICAL)
URL, TOKEN, OTHER, PERSON = (os.environ[name] for name in ["NACRE_URL", "NACRE_TOKEN", "NACRE_OTHER", "NACRE_PERSON"])


def texts(answer):
    return sorted(found["memory"] for found in answer["results"])


def refused(call, *arguments, **named):
    try:
        call(*arguments, **named)
    except (Mem0Error, ValueError) as problem:
        return str(problem)
    raise AssertionError("it was answered")


def check_client():
    with check("mem0: a token that is not known"):
        assert "unknown" in refused(MemoryClient, api_key="none", host=URL)
    client = MemoryClient(api_key=TOKEN, host=URL)
    with check("mem0: ping says which group"):
        assert (client.org_id, client.project_id) == ("nacre", "main")
    with check("mem0: add keeps what the user said"):
        talk = [
            {"role": "user", "content": "I am Ada and I drink green tea."},
            {"role": "assistant", "content": "Noted."},
            {"role": "user", "content": "My boat is called Luna."},
        ]
        added = client.add(talk, user_id="ada", metadata={"room": "kitchen", "size": 3})
        assert [(row["memory"], row["event"]) for row in added["results"]] == [(talk[0]["content"], "ADD"), (talk[2]["content"], "ADD")]
    with check("mem0: add without inference keeps all of it"):
        added = client.add([{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good day"}], user_id="bo", infer=False)
        assert [row["memory"] for row in added["results"]] == ["Hello", "Good day"]
    with check("mem0: a text, a message, owners in filters"):
        client.add("The printer is in room 9.", agent_id="helper", run_id="run-1")
        client.add({"role": "user", "content": "I drink green tea, too."}, filters={"user_id": "Ada"})
    with check("mem0: add without an owner is refused"):
        assert "user_id" in refused(client.add, "x")
    with check("mem0: search finds what is the owner's"):
        found = client.search("what does she drink?", filters={"user_id": "ada"})
        assert found["results"][0]["memory"].endswith("green tea.") and 0 < found["results"][0]["score"] <= 1, found
        assert {row["user_id"] for row in found["results"]} == {"ada"}
        assert found["results"][0]["metadata"] == {"room": "kitchen", "size": 3}
    with check("mem0: search with operators"):
        for filters, expected in [
            ({"AND": [{"user_id": "ada"}, {"metadata": {"room": "kitchen"}}]}, 2),
            ({"OR": [{"user_id": "ada"}, {"user_id": "Ada"}]}, 3),
            ({"AND": [{"user_id": "*"}, {"NOT": [{"user_id": "ada"}]}]}, 3),
            ({"user_id": {"in": ["bo", "Ada"]}}, 3),
            ({"user_id": "ada", "size": {"gte": 3}}, 2),
            ({"user_id": "ada", "size": {"gt": 3}}, 0),
            ({"user_id": "nobody"}, 0),
        ]:
            assert client.get_all(filters=filters)["count"] == expected, (filters, client.get_all(filters=filters))
            assert len(client.search("tea boat hello day", filters=filters, top_k=50)["results"]) <= expected, filters
        assert len(client.search("green tea", filters={"OR": [{"user_id": "ada"}, {"user_id": "Ada"}]}, top_k=1)["results"]) == 1
        assert "operator" in refused(client.search, "tea", filters={"size": {"above": 3}})
    with check("mem0: pages"):
        first = client.get_all(filters={"user_id": "*"}, page=1, page_size=3)
        second = client.get_all(filters={"user_id": "*"}, page=2, page_size=3)
        assert (first["count"], len(first["results"]), len(second["results"])) == (5, 3, 2), (first, second)
        assert first["previous"] is None and "page=2" in first["next"] and second["next"] is None
        assert not {row["id"] for row in first["results"]} & {row["id"] for row in second["results"]}
        assert httpx.post(first["next"], json={"filters": {"user_id": "*"}}, headers={"Authorization": f"Token {TOKEN}"}).json()["results"] == second["results"]
    boat = next(row["id"] for row in client.get_all(filters={"user_id": "ada"})["results"] if "boat" in row["memory"])
    with check("mem0: get, update, history"):
        assert client.get(boat)["memory"] == "My boat is called Luna."
        assert client.update(boat, text="My boat is called Stella.", metadata={"room": "harbour"})["memory"].endswith("Stella.")
        found = client.get(boat)
        assert (found["memory"], found["metadata"], found["user_id"]) == ("My boat is called Stella.", {"room": "harbour"}, "ada")
        rows = client.history(boat)
        assert [(row["event"], row["old_memory"], row["new_memory"]) for row in rows] == [
            ("ADD", None, "My boat is called Luna."),
            ("UPDATE", "My boat is called Luna.", "My boat is called Stella."),
        ], rows
    with check("mem0: what expires"):
        client.update(boat, expiration_date="2020-01-01")
        assert boat not in [row["id"] for row in client.get_all(filters={"user_id": "ada"})["results"]]
        client.update(boat, expiration_date=None)
        assert boat in [row["id"] for row in client.get_all(filters={"user_id": "ada"})["results"]]
    with check("mem0: users"):
        users = {(row["type"], row["name"]): row["total_memories"] for row in client.users()["results"]}
        assert users == {("user", "ada"): 2, ("user", "Ada"): 1, ("user", "bo"): 2, ("agent", "helper"): 1, ("run", "run-1"): 1}, users
    with check("mem0: another group's token reaches nothing of it"):
        other = MemoryClient(api_key=OTHER, host=URL)
        assert other.project_id == "other"
        assert other.get_all(filters={"user_id": "ada"})["count"] == 0 and other.users()["count"] == 0
        refused(other.get, boat), refused(other.update, boat, text="x"), refused(other.delete, boat), refused(other.history, boat)
        other.delete_all(user_id="ada")
        assert client.get(boat)["memory"] == "My boat is called Stella."
    with check("mem0: batches"):
        ids = [row["id"] for row in client.get_all(filters={"user_id": "bo"})["results"]]
        client.batch_update([{"memory_id": one, "text": f"Text {place}"} for place, one in enumerate(ids)])
        assert texts(client.get_all(filters={"user_id": "bo"})) == ["Text 0", "Text 1"]
        client.batch_delete([{"memory_id": one} for one in ids])
        assert client.get_all(filters={"user_id": "bo"})["count"] == 0
    with check("mem0: delete, delete_all, delete_users"):
        client.delete(boat)
        assert "mem-" in refused(client.get, boat) and refused(client.delete, boat)
        client.delete_all(user_id="ada")
        assert client.get_all(filters={"user_id": "ada"})["count"] == 0 and client.get_all(filters={"user_id": "Ada"})["count"] == 1
        assert refused(client.delete_all)
        client.delete_users(agent_id="helper")
        assert refused(client.delete_users, agent_id="helper")
        client.reset()
        assert client.users()["count"] == 0


async def check_async():
    with check("mem0: the asynchronous client"):
        client = AsyncMemoryClient(api_key=TOKEN, host=URL)
        added = await client.add("The kettle is red.", user_id="cy")
        found = await client.search("kettle", filters={"user_id": "cy"})
        assert found["results"][0]["id"] == added["results"][0]["id"]
        await client.delete_all(user_id="cy")


def check_server():
    """The paths of mem0's own server, as its docs give them."""
    for name, headers in [("X-API-Key", {"X-API-Key": TOKEN}), ("Bearer", {"Authorization": f"Bearer {TOKEN}"})]:
        with check(f"mem0's server: {name}"), httpx.Client(base_url=URL, headers=headers) as http:
            added = http.post("/memories", json={"messages": [{"role": "user", "content": "I own a red kite."}], "user_id": "dee"}).json()
            one = added["results"][0]["id"]
            assert http.get("/memories", params={"user_id": "dee"}).json()["results"][0]["id"] == one
            assert http.post("/search", json={"query": "kite", "user_id": "dee"}).json()["results"][0]["id"] == one
            assert http.get(f"/memories/{one}").json()["memory"] == "I own a red kite."
            assert http.put(f"/memories/{one}", json={"text": "I own a blue kite."}).json() == {"message": "Memory updated successfully!"}
            assert len(http.get(f"/memories/{one}/history").json()) == 2
            for answer in [http.get("/memories"), http.post("/search", json={"query": "kite"}), http.post("/memories", json={"messages": "x"})]:
                assert answer.status_code == 400 and "user_id" in answer.json()["detail"], answer.text
            assert http.post("/reset").status_code == 403
            assert http.delete(f"/memories/{one}").json() == {"message": "Memory deleted successfully!"}
            assert http.get(f"/memories/{one}").status_code == 404
            assert http.delete("/memories", params={"user_id": "dee"}).status_code == 200
    with check("mem0's server: a person resets, and what is not mem0's stays"), httpx.Client(base_url=URL) as http:
        http.headers["Authorization"] = f"Bearer {PERSON}"
        http.post("/memories", json={"messages": "x", "user_id": "eve"})
        kept = http.post("/v1/entries", json={"content": "The person's own."}).json()["id"]
        assert http.post("/reset").json() == {"message": "All memories reset"}
        assert http.get("/v1/entities/").json()["count"] == 0 and http.get(f"/v1/entries/{kept}").status_code == 200
    with check("mem0's server: nobody is let in without a token"):
        for path in ["/memories?user_id=dee", "/v1/ping/", "/v1/entities/"]:
            answer = httpx.get(URL + path)
            assert answer.status_code == 401 and answer.json()["detail"], answer.text


check_client()
asyncio.run(check_async())
check_server()
