/** What can happen to a file on its way to a node, as data; whether it happens is decided by a plan of faults. */

/** The request that moves a file: `POST /nodes/pve1/storage/local/upload`. */
export interface TransferInfo {
  readonly method: string;
  readonly path: string;
}

/** What happens to the body of an upload once this much of it has arrived. */
export type UploadFault =
  | { readonly kind: 'cut'; readonly percent: number }
  | { readonly kind: 'stall'; readonly percent: number; readonly forMs: number };

/** What happens to a file on its way from the outside world to a node. */
export type DownloadFault =
  | { readonly kind: 'unresolvable' | 'refused' | 'content' }
  | { readonly kind: 'status'; readonly status: number }
  /** The line breaks when this much has come, once or every time. */
  | { readonly kind: 'cut' | 'cut-once'; readonly percent: number }
  | { readonly kind: 'stall'; readonly percent: number; readonly forMs: number };
