/** A door for readiness: whether a TCP port answers from here. The real one opens a connection, tests ask the simulator. */

export interface PortProbe {
  /** False for refused, unreachable and too late alike; rejects only with `Canceled`. */
  isOpen(
    address: string,
    port: number,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
  ): Promise<boolean>;
}
