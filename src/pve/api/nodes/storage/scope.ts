/** What every handle below a storage shares: whom it is about. */
import type { Random } from '../../../../base/random.ts';
import type { Api } from '../../../request.ts';

export interface StorageScope {
  readonly api: Api;
  readonly random: Random;
  readonly node: string;
  readonly storage: string;
}
