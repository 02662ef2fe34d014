/** Who and what may use the gateway: the own password, tokens for programs, users. */
import { useState } from 'preact/hooks';
import { call, path } from '../api.ts';
import { momentText } from '../format.ts';
import { ActivityCard } from '../parts/activity.tsx';
import { TokenCards } from '../parts/tokens.tsx';
import { may, me } from '../session.ts';
import {
  Button,
  Card,
  Confirm,
  Dialog,
  ErrorNotice,
  Field,
  Form,
  Input,
  Loading,
  Notice,
  PageHead,
  Select,
  useAction,
  useAnswer,
} from '../ui.tsx';
import type { User } from '../shapes.ts';
import { reaches, type Role } from '../../lib/role.ts';

export const ROLE_CHOICES: readonly { value: Role; text: string }[] = [
  { value: 'READONLY', text: 'Read only' },
  { value: 'USER', text: 'User: runs commands' },
  { value: 'OWNER', text: 'Owner: changes devices and site' },
  { value: 'INSTALLER', text: 'Installer: everything' },
];

export function AccessPage() {
  return (
    <>
      <PageHead title="Access" />
      <div class="columns">
        {me.value?.kind === 'user' && <PasswordCard />}
        <TokenCards roles={ROLE_CHOICES.filter(({ value }) => reaches(me.value?.role, value))} />
        {may('INSTALLER') && <UsersCard />}
        {may('OWNER') && <ActivityCard />}
      </div>
    </>
  );
}

function PasswordCard() {
  const [current, setCurrent] = useState('');
  const [password, setPassword] = useState('');
  const [revokesTokens, setRevokesTokens] = useState(false);
  const [isDone, setDone] = useState(false);
  const action = useAction(async () => {
    setDone(false);
    const body = { current_password: current, password, revoke_tokens: revokesTokens };
    await call('POST', '/v3/auth/password', body);
    setCurrent('');
    setPassword('');
    setDone(true);
  });
  return (
    <Card title="Your password">
      <Form onSubmit={action.start}>
        <Field label="Present password">
          <Input
            type="password"
            value={current}
            onValue={setCurrent}
            required
            autocomplete="current-password"
            name="current_password"
          />
        </Field>
        <Field label="New password" hint="Your other logins end.">
          <Input
            type="password"
            value={password}
            onValue={setPassword}
            required
            minLength={8}
            autocomplete="new-password"
            name="password"
          />
        </Field>
        <label>
          <input type="checkbox" checked={revokesTokens} onChange={() => setRevokesTokens(!revokesTokens)} />{' '}
          End my access tokens, too
        </label>
        <ErrorNotice error={action.error} />
        {isDone && <Notice kind="success">The password is changed.</Notice>}
        <div class="actions end">
          <Button kind="primary" type="submit" disabled={action.isBusy}>
            Change
          </Button>
        </div>
      </Form>
    </Card>
  );
}

function UsersCard() {
  const { answer, error, again } = useAnswer(() => call<{ users: User[] }>('GET', '/v3/auth/users'), []);
  const [isAdding, setAdding] = useState(false);
  const [changed, setChanged] = useState<User | undefined>(undefined);
  const [removed, setRemoved] = useState<User | undefined>(undefined);
  const removing = useAction(async (user: User) => {
    await call('DELETE', path`/v3/auth/users/${user.id}`);
    setRemoved(undefined);
    again();
  });
  const closed = (): void => {
    setAdding(false);
    setChanged(undefined);
    again();
  };
  return (
    <Card title="Users" actions={<Button onClick={() => setAdding(true)}>Add user…</Button>}>
      <ErrorNotice error={error} />
      {!answer && error === undefined && <Loading />}
      <ul class="rows">
        {answer?.users.map((user) => (
          <li key={user.id}>
            <span>
              <b>{user.name}</b>
              <small>
                {user.role.toLowerCase()}
                {!user.has_password && ', no password'} · since {momentText(user.created_at)}
              </small>
            </span>
            <span class="actions">
              <Button onClick={() => setChanged(user)} aria-label={`Change ${user.name}`}>
                Change…
              </Button>
              <Button kind="danger" onClick={() => setRemoved(user)} aria-label={`Delete ${user.name}`}>
                Delete…
              </Button>
            </span>
          </li>
        ))}
      </ul>
      {isAdding && <UserDialog onClose={closed} />}
      {changed && <UserDialog user={changed} onClose={closed} />}
      {removed && (
        <Confirm
          title={`Delete ${removed.name}?`}
          text="Logins and tokens of this user end."
          confirm="Delete"
          isDangerous
          isBusy={removing.isBusy}
          error={removing.error}
          onConfirm={() => void removing.start(removed)}
          onClose={() => {
            removing.clear();
            setRemoved(undefined);
          }}
        />
      )}
    </Card>
  );
}

function UserDialog({ user, onClose }: { user?: User; onClose: () => void }) {
  const [name, setName] = useState(user?.name ?? '');
  const [role, setRole] = useState<string>(user?.role ?? 'USER');
  const [password, setPassword] = useState('');
  const action = useAction(async () => {
    if (user)
      await call('PATCH', path`/v3/auth/users/${user.id}`, { role, ...(password !== '' && { password }) });
    else await call('POST', '/v3/auth/users', { name, role, password });
    onClose();
  });
  return (
    <Dialog title={user ? `Change ${user.name}` : 'Add user'} onClose={onClose}>
      <Form onSubmit={action.start}>
        {!user && (
          <Field label="Name">
            <Input value={name} onValue={setName} required autocomplete="off" name="name" />
          </Field>
        )}
        <Field label="Role">
          <Select value={role} onValue={setRole} choices={ROLE_CHOICES} name="role" />
        </Field>
        <Field label="Password" hint={user ? 'Stays when nothing is typed.' : 'At least 8 characters.'}>
          <Input
            type="password"
            value={password}
            onValue={setPassword}
            required={!user}
            minLength={8}
            autocomplete="new-password"
            name="password"
          />
        </Field>
        <ErrorNotice error={action.error} />
        <div class="actions end">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={action.isBusy}>
            Save
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
