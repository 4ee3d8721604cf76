/** The toy as a program of its own, bundled by the tests. */
import { runProvider } from '../../../src/provider/host/run.ts';

void runProvider(() => import('./after-handshake.ts'));
