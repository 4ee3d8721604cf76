/** The public face of the engine: `import { retryWhileBusy } from 'proxwright/engine'`. */
export { DEFAULT_RETRY, type RetryContext, type RetryPolicy, retryWhileBusy } from './retry.ts';
