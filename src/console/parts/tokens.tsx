/** Tokens for programs, and open logins. */
import { useState } from 'preact/hooks';
import { callFor, path, remove } from '../api.ts';
import { momentText } from '../format.ts';
import { WALL } from '../route.ts';
import {
  AskButton,
  Button,
  Card,
  type Choice,
  Dialog,
  ErrorNotice,
  Form,
  InputField,
  Loading,
  Notice,
  Rows,
  SelectField,
  useAction,
  useStored,
} from '../ui.tsx';
import { Code } from '../ui/page-components.tsx';
import { useTyped } from '../ui/typed.ts';
import type { AccessToken } from '../shapes.ts';
import { say } from '../words/later.ts';

const LIFETIMES: readonly Choice[] = [
  { value: '', text: say.access.untilRevoked },
  { value: '1d', text: say.access.oneDay },
  { value: '30d', text: say.access.days30 },
  { value: '365d', text: say.access.oneYear },
];

export function TokenCards({ roles }: { roles: readonly Choice[] }) {
  const { answer, error } = useStored(() =>
    callFor<AccessToken[]>('access_tokens', 'GET', '/v3/auth/tokens?kind=ALL'),
  );
  const [isMaking, setMaking] = useState(false);
  const list = (kind: AccessToken['kind'], none: string) => {
    if (!answer) return error === undefined && <Loading />;
    const found = answer.filter((token) => token.kind === kind);
    return found.length === 0 ? (
      <p class="hint">{none}</p>
    ) : (
      <Rows items={found} keyOf={({ id }) => id} row={(token) => <TokenRow token={token} />} />
    );
  };
  return (
    <>
      <Card
        title={say.access.tokens}
        actions={<Button onClick={() => setMaking(true)}>{say.access.newTokenAsking}</Button>}
      >
        <ErrorNotice error={error} />
        {list('TOKEN', say.access.noTokens)}
      </Card>
      <Card title={say.access.openLogins}>{list('SESSION', say.access.noLogins)}</Card>
      {isMaking && <TokenDialog roles={roles} onClose={() => setMaking(false)} />}
    </>
  );
}

function TokenRow({ token }: { token: AccessToken }) {
  const used =
    token.last_used_at === undefined
      ? say.access.neverUsed
      : say.access.lastUsed(momentText(token.last_used_at));
  const ends = token.expires_at === undefined ? '' : say.access.ends(momentText(token.expires_at));
  return (
    <li>
      <span>
        <b>{token.kind === 'SESSION' ? (token.user?.name ?? token.name) : token.name}</b>
        <small>
          {say.values.role[token.role]} · {used}
          {token.expired ? say.access.expired : ends}
        </small>
      </span>
      <span class="actions">
        <AskButton
          kind="danger"
          aria-label={say.access.endName(token.name)}
          title={say.access.endTitle(token.name)}
          text={say.access.endText}
          confirm={say.access.endConfirm}
          run={() => remove(path`/v3/auth/tokens/${token.id}`)}
        >
          {say.access.endAsking}
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
    const body = { name, role, ...(lifetime !== '' && { expires_in: lifetime }) };
    setToken(await callFor<string>('token', 'POST', '/v3/auth/tokens', body));
  });
  if (token !== undefined)
    return (
      <Dialog title={say.access.tokenName(name)} onClose={onClose}>
        <Notice kind="warning">{say.access.copyNow}</Notice>
        <Code text={token} />
        {role === 'READONLY' && (
          <>
            <p class="between">{say.access.wallLink}</p>
            <Code text={`${location.origin}/#/${WALL}/${token}`} />
          </>
        )}
        <div class="actions end">
          <Button kind="primary" onClick={onClose}>
            {say.everywhere.close}
          </Button>
        </div>
      </Dialog>
    );
  return (
    <Dialog title={say.access.newToken} onClose={onClose}>
      <Form action={action} submit={say.access.makeToken} onCancel={onClose}>
        <InputField
          label={say.everywhere.name}
          hint={say.access.tokenHint}
          {...bound('name')}
          required
          placeholder={say.access.exampleToken}
        />
        <SelectField label={say.access.role} {...bound('role')} choices={roles} />
        <SelectField label={say.access.valid} {...bound('lifetime')} choices={LIFETIMES} />
      </Form>
    </Dialog>
  );
}
