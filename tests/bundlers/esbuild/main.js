import { Threadkeep } from "threadkeep/slim";
import { ask, askService, show } from "../shared/page.js";
import { sample } from "../shared/sample.js";
import { ready } from "./files.js";

show("page", ready().then(() => sample(Threadkeep)));
show("worker", ask(new Worker("./worker.js", { type: "module" })));
show("service", askService(navigator.serviceWorker.register("./service.js")));
