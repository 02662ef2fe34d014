/** Access to the gateway: the own password, tokens for programs, users. */
import { useState } from 'preact/hooks';
import { call, callFor, path, remove } from '../api.ts';
import { momentText } from '../format.ts';
import { ActivityCard } from '../parts/activity.tsx';
import { NEW_PASSWORD, WhosePassword } from '../parts/new-password.tsx';
import { TokenCards } from '../parts/tokens.tsx';
import { may, me } from '../session.ts';
import {
  AskButton,
  Awaited,
  Button,
  Card,
  Check,
  type Choice,
  Dialog,
  Form,
  InputField,
  PageHead,
  Rows,
  SelectField,
  useAction,
  useStored,
} from '../ui.tsx';
import { useItemForm, useTyped } from '../ui/typed.ts';
import type { User } from '../shapes.ts';
import { reaches } from '../../lib/role.ts';
import { say } from '../words/later.ts';

const ROLE_CHOICES: readonly Choice<User['role']>[] = [
  { value: 'READONLY', text: say.access.readonly },
  { value: 'USER', text: say.access.user },
  { value: 'OWNER', text: say.access.owner },
  { value: 'INSTALLER', text: say.access.installer },
];

const USERS = '/v3/auth/users';

export function AccessPage() {
  return (
    <>
      <PageHead title={say.frame.access} />
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
    <Card title={say.access.yourPassword}>
      <Form action={action} submit={say.access.changePassword} done={say.access.passwordChanged}>
        <WhosePassword name={me.value?.name} />
        <InputField
          label={say.access.presentPassword}
          type="password"
          {...bound('current_password')}
          required
          autocomplete="current-password"
        />
        <InputField
          label={say.frame.newPassword}
          hint={say.access.otherLoginsEnd}
          {...NEW_PASSWORD}
          {...bound('password')}
          required
        />
        <Check value={revokesTokens} onValue={setRevokesTokens}>
          {say.access.endTokens}
        </Check>
      </Form>
    </Card>
  );
}

function UsersCard() {
  const { answer, error } = useStored(() => callFor<User[]>('users', 'GET', USERS));
  // `new` for one that is added.
  const [open, setOpen] = useState<User | 'new' | undefined>(undefined);
  const of = open === 'new' ? undefined : (answer?.find(({ id }) => id === open?.id) ?? open);
  return (
    <Card
      title={say.access.users}
      actions={<Button onClick={() => setOpen('new')}>{say.access.addUserAsking}</Button>}
    >
      <Awaited answer={answer} error={error} />
      <Rows
        items={answer ?? []}
        keyOf={({ id }) => id}
        row={(user) => (
          <li>
            <span>
              <b>{user.name}</b>
              <small>
                {say.values.role[user.role]}
                {!user.has_password && say.access.noPassword} ·{' '}
                {say.access.sinceMoment(momentText(user.created_at))}
              </small>
            </span>
            <span class="actions">
              <Button onClick={() => setOpen(user)} aria-label={say.everywhere.changeName(user.name)}>
                {say.access.changeAsking}
              </Button>
              <AskButton
                kind="danger"
                aria-label={say.everywhere.deleteName(user.name)}
                title={say.everywhere.deleteTitle(user.name)}
                text={say.access.deleteUserText}
                confirm={say.everywhere.delete}
                run={() => remove(path`/v3/auth/users/${user.id}`)}
              >
                {say.everywhere.deleteAsking}
              </AskButton>
            </span>
          </li>
        )}
      />
      {open !== undefined && <UserDialog user={of} onClose={() => setOpen(undefined)} />}
    </Card>
  );
}

function UserDialog({ user, onClose }: { user: User | undefined; onClose: () => void }) {
  const typedOf = (stored: User | undefined) => ({
    name: stored?.name ?? '',
    role: stored?.role ?? 'USER',
    password: '',
  });
  const {
    controls: { bound },
    action,
  } = useItemForm({ address: USERS, stored: user, typedOf, bodyOf: (typed) => typed, onDone: onClose });
  return (
    <Dialog title={user ? say.everywhere.changeName(user.name) : say.access.addUser} onClose={onClose}>
      <Form action={action} submit={say.everywhere.save} onCancel={onClose}>
        {user ? (
          <WhosePassword name={user.name} />
        ) : (
          <InputField label={say.everywhere.name} {...bound('name')} required autocomplete="off" />
        )}
        <SelectField label={say.access.role} {...bound('role')} choices={ROLE_CHOICES} />
        <InputField
          label={say.everywhere.password}
          hint={user ? say.access.passwordStays : say.access.atLeast8}
          {...NEW_PASSWORD}
          {...bound('password')}
          required={!user}
        />
      </Form>
    </Dialog>
  );
}
