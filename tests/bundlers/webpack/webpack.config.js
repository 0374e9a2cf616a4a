import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const common = { mode: "production", context: here, devtool: false, performance: { hints: false } };

export default [
  { ...common, entry: { main: "./main.js" }, output: { path: `${here}dist`, filename: "[name].js" } },
  // A service worker in the classic way: one script, which loads no other.
  { ...common, target: "webworker", entry: { service: "./service.js" }, output: { path: `${here}dist`, filename: "[name].js" } },
];
