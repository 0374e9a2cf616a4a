import { Threadkeep } from "threadkeep";
import { answer } from "../shared/answer.js";

answer(Threadkeep);
