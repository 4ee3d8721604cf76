/** A stack without anything in it. A kind adds its one resource. */
import type { StackContent } from '../adapter/engine-run.ts';

export const EMPTY_STACK: StackContent = { images: [], templates: [], vms: [] };
