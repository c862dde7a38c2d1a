// The conformance suite can't send a token. This stands before the server and puts one in; all else passes as it came, the host and
// the origin above all. It prints its port.
//   node proxy.mjs PORT-OF-NACRE TOKEN-FILE
import { readFileSync } from "node:fs";
import http from "node:http";

const [port, file] = process.argv.slice(2);
const token = readFileSync(file, "utf8").trim();

const proxy = http.createServer((request, response) => {
  const headers = [...request.rawHeaders, "Authorization", `Bearer ${token}`];
  const onward = http.request({ host: "127.0.0.1", port, method: request.method, path: request.url, headers, setHost: false, agent: false });
  onward.on("response", (answer) => {
    response.writeHead(answer.statusCode, answer.rawHeaders);
    answer.pipe(response);
    answer.on("error", () => response.destroy());
  });
  onward.on("error", () => response.destroy());
  response.on("close", () => onward.destroy());
  request.pipe(onward);
});
proxy.listen(Number(process.env.PROXY_PORT ?? 0), "127.0.0.1", () => console.log(proxy.address().port));
