/** Tokens for programs, and open logins. */
import { useState } from 'preact/hooks';
import { call, path } from '../api.ts';
import { momentText } from '../format.ts';
import {
  AskButton,
  Button,
  Card,
  Code,
  Dialog,
  ErrorNotice,
  Form,
  InputField,
  Notice,
  SelectField,
  type Choice,
  useAction,
  useAnswer,
  useTyped,
} from '../ui.tsx';
import type { AccessToken } from '../shapes.ts';

const LIFETIMES: readonly Choice[] = [
  { value: '', text: 'Until revoked' },
  { value: '1d', text: 'One day' },
  { value: '30d', text: '30 days' },
  { value: '365d', text: 'One year' },
];

export function TokenCards({ roles }: { roles: readonly Choice[] }) {
  const { answer, error, again } = useAnswer(
    () => call<{ access_tokens: AccessToken[] }>('GET', '/v3/auth/tokens?kind=ALL'),
    [],
  );
  const [isMaking, setMaking] = useState(false);
  const tokens = answer?.access_tokens ?? [];
  const list = (kind: AccessToken['kind'], none: string) => {
    const found = tokens.filter((token) => token.kind === kind);
    return found.length === 0 ? (
      <p class="hint">{none}</p>
    ) : (
      <ul class="rows">
        {found.map((token) => (
          <TokenRow token={token} onRevoked={again} key={token.id} />
        ))}
      </ul>
    );
  };
  return (
    <>
      <Card title="Tokens for programs" actions={<Button onClick={() => setMaking(true)}>New token…</Button>}>
        <ErrorNotice error={error} />
        {list(
          'TOKEN',
          'None. A program or an app gets one and can be shut out again without a new password.',
        )}
      </Card>
      <Card title="Open logins">{list('SESSION', 'None.')}</Card>
      {isMaking && (
        <TokenDialog
          roles={roles}
          onClose={() => {
            setMaking(false);
            again();
          }}
        />
      )}
    </>
  );
}

function TokenRow({ token, onRevoked }: { token: AccessToken; onRevoked: () => void }) {
  const used =
    token.last_used_at === undefined ? 'never used' : `last used ${momentText(token.last_used_at)}`;
  const ends = token.expires_at === undefined ? '' : ` · ends ${momentText(token.expires_at)}`;
  return (
    <li>
      <span>
        <b>{token.kind === 'SESSION' ? (token.user?.name ?? token.name) : token.name}</b>
        <small>
          {token.role.toLowerCase()} · {used}
          {token.expired ? ' · expired' : ends}
        </small>
      </span>
      <span class="actions">
        <AskButton
          kind="danger"
          aria-label={`End ${token.name}`}
          title={`End ${token.name}?`}
          text="Whoever uses it is shut out at once."
          confirm="End it"
          run={() => call('DELETE', path`/v3/auth/tokens/${token.id}`).then(onRevoked)}
        >
          End…
        </AskButton>
      </span>
    </li>
  );
}

function TokenDialog({ roles, onClose }: { roles: readonly Choice[]; onClose: () => void }) {
  const { typed, bound } = useTyped(() => ({ name: '', role: 'READONLY', lifetime: '' }));
  const { name, role, lifetime } = typed;
  const [token, setToken] = useState<string | undefined>(undefined);
  const action = useAction(async () => {
    const made = await call<{ token: string }>('POST', '/v3/auth/tokens', {
      name,
      role,
      ...(lifetime !== '' && { expires_in: lifetime }),
    });
    setToken(made.token);
  });
  if (token !== undefined)
    return (
      <Dialog title={`Token ${name}`} onClose={onClose}>
        <Notice kind="warning">
          <p>Copy it now; it cannot be shown again.</p>
        </Notice>
        <Code text={token} />
        <div class="actions end">
          <Button kind="primary" onClick={onClose}>
            Close
          </Button>
        </div>
      </Dialog>
    );
  return (
    <Dialog title="New token" onClose={onClose}>
      <Form action={action} submit="Make token" buttons={<Button onClick={onClose}>Cancel</Button>}>
        <InputField
          label="Name"
          hint="Which program it is for."
          {...bound('name')}
          required
          placeholder="dashboard"
        />
        <SelectField label="Role" {...bound('role')} choices={roles} />
        <SelectField label="Valid" {...bound('lifetime')} choices={LIFETIMES} />
      </Form>
    </Dialog>
  );
}
