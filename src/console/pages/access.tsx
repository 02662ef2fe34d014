/** Who and what may use the gateway: the own password, tokens for programs, users. */
import { useState } from 'preact/hooks';
import { call, path } from '../api.ts';
import { momentText } from '../format.ts';
import { ActivityCard } from '../parts/activity.tsx';
import { NEW_PASSWORD } from '../parts/new-password.tsx';
import { TokenCards } from '../parts/tokens.tsx';
import { may, me } from '../session.ts';
import {
  AskButton,
  Button,
  Card,
  Check,
  type Choice,
  Dialog,
  ErrorNotice,
  Form,
  InputField,
  Loading,
  PageHead,
  SelectField,
  useAction,
  useAnswer,
  useTyped,
} from '../ui.tsx';
import type { User } from '../shapes.ts';
import { reaches } from '../../lib/role.ts';

const ROLE_CHOICES: readonly Choice<User['role']>[] = [
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
  const { typed, change, bound } = useTyped(() => ({ current_password: '', password: '' }));
  const [revokesTokens, setRevokesTokens] = useState(false);
  const action = useAction(async () => {
    await call('POST', '/v3/auth/password', { ...typed, revoke_tokens: revokesTokens });
    change({ current_password: '', password: '' });
  });
  return (
    <Card title="Your password">
      <Form action={action} submit="Change" done="The password is changed.">
        <InputField
          label="Present password"
          type="password"
          {...bound('current_password')}
          required
          autocomplete="current-password"
        />
        <InputField
          label="New password"
          hint="Your other logins end."
          {...NEW_PASSWORD}
          {...bound('password')}
          required
        />
        <Check value={revokesTokens} onValue={setRevokesTokens}>
          End my access tokens, too
        </Check>
      </Form>
    </Card>
  );
}

function UsersCard() {
  const { answer, error, again } = useAnswer(() => call<{ users: User[] }>('GET', '/v3/auth/users'), []);
  // `new` for one that is added.
  const [open, setOpen] = useState<User | 'new' | undefined>(undefined);
  const closed = (): void => {
    setOpen(undefined);
    again();
  };
  return (
    <Card title="Users" actions={<Button onClick={() => setOpen('new')}>Add user…</Button>}>
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
              <Button onClick={() => setOpen(user)} aria-label={`Change ${user.name}`}>
                Change…
              </Button>
              <AskButton
                kind="danger"
                aria-label={`Delete ${user.name}`}
                title={`Delete ${user.name}?`}
                text="Logins and tokens of this user end."
                confirm="Delete"
                run={() => call('DELETE', path`/v3/auth/users/${user.id}`).then(again)}
              >
                Delete…
              </AskButton>
            </span>
          </li>
        ))}
      </ul>
      {open !== undefined && <UserDialog user={open === 'new' ? undefined : open} onClose={closed} />}
    </Card>
  );
}

function UserDialog({ user, onClose }: { user: User | undefined; onClose: () => void }) {
  const { typed, bound } = useTyped(() => ({
    name: user?.name ?? '',
    role: user?.role ?? 'USER',
    password: '',
  }));
  const { role, password } = typed;
  const action = useAction(async () => {
    if (user)
      await call('PATCH', path`/v3/auth/users/${user.id}`, { role, ...(password !== '' && { password }) });
    else await call('POST', '/v3/auth/users', typed);
    onClose();
  });
  return (
    <Dialog title={user ? `Change ${user.name}` : 'Add user'} onClose={onClose}>
      <Form action={action} submit="Save" buttons={<Button onClick={onClose}>Cancel</Button>}>
        {!user && <InputField label="Name" {...bound('name')} required autocomplete="off" />}
        <SelectField label="Role" {...bound('role')} choices={ROLE_CHOICES} />
        <InputField
          label="Password"
          hint={user ? 'Stays when nothing is typed.' : 'At least 8 characters.'}
          {...NEW_PASSWORD}
          {...bound('password')}
          required={!user}
        />
      </Form>
    </Dialog>
  );
}
