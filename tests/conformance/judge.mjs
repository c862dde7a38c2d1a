// Says of every check of a scenario what came of it. One that names a fixture which this server does not have could not be tried, and is
// counted apart. A warning is a failure here.
//   node judge.mjs FOLDER VERSION SCENARIO
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const [folder, version, scenario] = process.argv.slice(2);
const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith("checks.json"));
const checks = files.flatMap((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
const fixture = (check) => /^Not testable: server does not list the diagnostic tool|unknown tool `test_/.test(check.errorMessage ?? "");
const counted = checks.filter((check) => ["SUCCESS", "FAILURE", "WARNING"].includes(check.status));
const failed = counted.filter((check) => check.status !== "SUCCESS" && !fixture(check));
const untried = counted.filter((check) => check.status !== "SUCCESS" && fixture(check)).length;
for (const check of failed) console.log(`FAILED ${version} ${scenario}: ${check.id}: ${check.errorMessage ?? check.description}`);
if (!counted.some((check) => check.status === "SUCCESS")) console.log(`FAILED ${version} ${scenario}: nothing was tried`);
else if (!failed.length) console.log(`ok ${version} ${scenario}: ${counted.length - untried} checks${untried ? `, ${untried} need fixtures` : ""}`);
