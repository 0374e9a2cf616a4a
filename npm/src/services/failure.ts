// What goes wrong with a service, as one kind of error, and the time limit that every call to one has.

import { ThreadkeepError } from "../errors.js";

/**
 * Why a call to a memory service failed, in `details.reason`. `refused`: the service does not want this, and asking again will
 * not help. `busy`: another process is sending the same conversation. All others may pass.
 */
export type ServiceReason = "timeout" | "rate-limited" | "unavailable" | "unauthorized" | "refused" | "busy";

/** An error of a service. Its words hold nothing of what was sent: `cause` has the client's own error. @internal */
export function serviceError(service: string, operation: string, reason: ServiceReason, words: string, cause?: unknown, more: object = {}): ThreadkeepError {
  return new ThreadkeepError("memory-service", `${service}, ${operation}: ${words}`, { service, operation, reason, ...more }, cause);
}

/** Whether asking again cannot help. @internal */
export function isRefused(error: unknown): boolean {
  return error instanceof ThreadkeepError && error.code === "memory-service" && error.details["reason"] === "refused";
}

/** Whatever was thrown, as an error of ours. @internal */
export function asServiceError(error: unknown, service: string, operation: string): ThreadkeepError {
  if (error instanceof ThreadkeepError) return error;
  const name = error instanceof Error && error.name !== "Error" ? `${error.name}` : "the call failed";
  return serviceError(service, operation, "unavailable", name, error);
}

/** By an HTTP status: why. @internal */
export function reasonOf(status: number): ServiceReason {
  if (status === 429) return "rate-limited";
  if (status === 401 || status === 403) return "unauthorized";
  return status >= 400 && status < 500 && status !== 408 ? "refused" : "unavailable";
}

/**
 * Carries out a call with a time limit and a signal, both of which it hears through its own signal. A call that does not listen
 * is left to itself. @internal
 */
export function limited<T>(
  service: string,
  operation: string,
  { signal, timeout }: { signal?: AbortSignal | undefined; timeout: number },
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (signal?.aborted === true) return Promise.reject(cancelled(operation, signal.reason));
  const ended = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const stop = (error: ThreadkeepError): void => {
      // A call that does not listen may never end, and its timer would keep Node running for as long.
      clearTimeout(timer);
      reject(error);
      ended.abort(error);
    };
    const timer = setTimeout(() => stop(serviceError(service, operation, "timeout", `no answer within ${timeout} ms`)), timeout);
    const cancel = (): void => stop(cancelled(operation, signal?.reason));
    signal?.addEventListener("abort", cancel, { once: true });
    const asked = async (): Promise<T> => call(ended.signal);
    asked()
      .then(resolve, (error: unknown) => reject(asServiceError(error, service, operation)))
      .finally(() => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", cancel);
      });
  });
}

function cancelled(operation: string, cause: unknown): ThreadkeepError {
  return new ThreadkeepError("cancelled", `${operation} was cancelled`, {}, cause);
}
