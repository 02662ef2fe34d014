/** Who calls: the answer of the `authenticate` hook. Roles: docs/interface/http.md#roles. */

import type { Role } from '../../lib/role.ts';

/** Who calls. */
export interface Principal {
  role: Role;
  /** What the call is recorded under: a token, a user, a rule, a device's script, a target, or the anonymous role. */
  origin: {
    kind: 'token' | 'user' | 'rule' | 'device' | 'target' | 'anonymous';
    id: string;
    name: string;
  };
  /** Key of what is limited per caller: one for the sessions of a person, one for all its tokens. */
  rateKey: string;
  /** The token or session that the call came with; absent without one. */
  tokenId?: string;
}
