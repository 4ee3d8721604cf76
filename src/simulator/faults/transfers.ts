/** Faults of file transfers: downloads by a node, and uploads by a client. */
import type { Clock } from '../../base/clock.ts';
import { TransportFailure } from '../../base/transport.ts';
import type { DownloadFault, TransferInfo, UploadFault } from '../core/runtime.ts';
import type { OnProgress } from '../http/body.ts';
import type { Faults } from './faults.ts';
import { type FaultRule, pathPattern } from './rule.ts';

export type TransferRule = Extract<
  FaultRule,
  { readonly kind: 'download-fail' | 'download-stall' | 'upload-cut' | 'upload-stall' }
>;

/** `strikes` is called once for each transfer that the rule matches. */
export function transferFaults(
  rule: TransferRule,
  strikes: (info: TransferInfo) => boolean,
): Pick<Faults, 'onUpload' | 'onDownload'> {
  const matches = transferMatcher(rule);
  const isStruck = (info: TransferInfo, kind: 'upload' | 'download') =>
    rule.kind.startsWith(kind) && matches(info) && strikes(info);
  return {
    onUpload: (info) => (isStruck(info, 'upload') ? uploadFault(rule) : undefined),
    onDownload: (info) => (isStruck(info, 'download') ? downloadFault(rule) : undefined),
  };
}

function transferMatcher({ match: { method, path } }: TransferRule): (info: TransferInfo) => boolean {
  const matchesPath = path === undefined ? () => true : pathPattern(path);
  return (info) => (method === undefined || method === info.method) && matchesPath(info.path);
}

function uploadFault(rule: TransferRule): UploadFault | undefined {
  if (rule.kind === 'upload-cut') return { kind: 'cut', percent: rule.percent };
  if (rule.kind === 'upload-stall') return { kind: 'stall', percent: rule.percent, forMs: rule.for_ms };
  return undefined;
}

function downloadFault(rule: TransferRule): DownloadFault | undefined {
  if (rule.kind === 'download-stall') return { kind: 'stall', percent: rule.percent, forMs: rule.for_ms };
  if (rule.kind !== 'download-fail') return undefined;
  switch (rule.how) {
    case 'status':
      return { kind: 'status', status: rule.status };
    case 'cut':
    case 'cut-once':
      return { kind: rule.how, percent: rule.percent };
    default:
      return { kind: rule.how };
  }
}

/** Strikes once, as soon as that much of the body has arrived. */
export function uploadTrouble(clock: Clock, fault: UploadFault | undefined): OnProgress {
  let isOver = fault === undefined;
  return async (doneBytes, sizeBytes) => {
    if (isOver || fault === undefined || doneBytes * 100 < fault.percent * sizeBytes) return;
    isOver = true;
    if (fault.kind === 'stall') return clock.sleep(fault.forMs);
    throw new TransportFailure({ kind: 'cut', delivered: 'perhaps', message: 'connection reset by peer' });
  };
}
