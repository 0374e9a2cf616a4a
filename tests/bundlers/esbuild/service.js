import { Threadkeep } from "threadkeep/slim";
import { answer } from "../shared/answer.js";
import { ready } from "./files.js";

// `open` waits for the module that `ready` loads.
ready();
answer(Threadkeep);
