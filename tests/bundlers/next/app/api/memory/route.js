import { Threadkeep } from "threadkeep";
import { sample } from "../../../../shared/sample.js";

export const runtime = "nodejs";
export const dynamic = "force-dynamic";

export async function GET() {
  return Response.json(await sample(Threadkeep));
}
