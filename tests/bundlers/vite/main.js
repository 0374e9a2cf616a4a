import { Threadkeep } from "threadkeep";
import { ask, askService, show } from "../shared/page.js";
import { sample } from "../shared/sample.js";

show("page", sample(Threadkeep));
show("worker", ask(new Worker(new URL("./worker.js", import.meta.url), { type: "module" })));
show("service", askService(navigator.serviceWorker.register(import.meta.env.DEV ? "/service.js" : "./service.js", { type: "module" })));
