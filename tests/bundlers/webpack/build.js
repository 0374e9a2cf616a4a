import { copyFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import webpack from "webpack";
import config from "./webpack.config.js";

const place = (name) => fileURLToPath(new URL(name, import.meta.url));

webpack(config, (error, stats) => {
  console.log(error ?? stats.toString({ all: false, errors: true, warnings: true, assets: true }));
  process.exitCode = error || stats.hasErrors() || stats.hasWarnings() ? 1 : 0;
  copyFileSync(place("index.html"), place("dist/index.html"));
});
