// Threadkeep: conversation memory for LLM agents. Importing this runs nothing; `Threadkeep.open` or `init` begin.

import "./places.js";

export * from "./surface.js";
