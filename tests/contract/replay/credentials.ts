/** The secrets of the recorded world as the simulator is seeded with it; they open nothing else. */
import type { Credentials } from './session.ts';

export const RECORDED_CREDENTIALS: Credentials = {
  tokens: {
    root: 'root@pam!test=00000000-0000-4000-8000-000000000001',
    noacl: 'terraform@pve!t1=00000000-0000-4000-8000-000000000002',
    admin: 'vmadmin@pve!t2=00000000-0000-4000-8000-000000000003',
  },
  login: { username: 'root@pam', password: 'test1234' },
};
