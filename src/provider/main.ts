/** The entry of terraform-provider-proxwright. */
import { runProvider } from './host/run.ts';

void runProvider(() => import('./after-handshake.ts'));
