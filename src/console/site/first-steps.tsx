/** The open steps of a new box, until all are done or somebody hides them. */
import { useEffect, useState } from 'preact/hooks';
import { liveDevices } from '../live.ts';
import { isOpenToListeners } from '../open-to-listeners.ts';
import { may } from '../session.ts';
import { site } from '../site-name.ts';
import { Button, Card } from '../ui.tsx';
import type { Site, SiteAttention } from '../shapes.ts';
import { isOwnTime, ownZone } from '../zone.ts';
import { say } from '../words/index.ts';

interface Step {
  text: string;
  hint: string;
  href: string;
  /** Undefined: this user cannot know. */
  isDone: boolean | undefined;
}

const HIDDEN = 'first-steps-hidden';

/** Whether the list is shown to users who may do its steps. */
export const isListShown = (): boolean => localStorage.getItem(HIDDEN) === null;

function stepsOf(stored: Site, { is_backup_made: hasBackup, user_count: users }: SiteAttention): Step[] {
  const { step } = say.site;
  const devices = liveDevices().map(({ device }) => device);
  // At the first start the site is named after the host, like the gateway.
  const host = devices.find(({ type }) => type === 'GATEWAY')?.name;
  const hasDevice = devices.some(({ type }) => type === 'STANDALONE' || type === 'LUA');
  const hasUsers = users === undefined ? undefined : users > 1;
  const zoneHint = step.zone.hint(stored.timezone, ownZone());
  return [
    { ...step.name, href: '#/site', isDone: stored.name !== host },
    { ...step.zone, hint: zoneHint, href: '#/site', isDone: isOwnTime(stored.timezone) },
    { ...step.place, href: '#/site', isDone: stored.location?.latitude !== undefined },
    { ...step.device, href: '#/add', isDone: hasDevice },
    { ...step.encrypted, href: '#/system', isDone: !isOpenToListeners() },
    { ...step.user, href: '#/access', isDone: hasUsers },
    { ...step.backup, href: '#/system/backup', isDone: hasBackup },
  ].filter(({ isDone }) => isDone !== undefined);
}

/** @param known undefined: not read yet */
export function FirstSteps({ known }: { known: SiteAttention | undefined }) {
  const [isHidden, setHidden] = useState(() => !isListShown());
  const isShown = may('OWNER') && !isHidden;
  const stored = site.value;
  const steps = isShown && known && stored ? stepsOf(stored, known) : [];
  const done = steps.filter(({ isDone }) => isDone).length;
  const isAllDone = steps.length > 0 && done === steps.length;
  useEffect(() => {
    // Done once, they are not read again at the next start.
    if (isAllDone) localStorage.setItem(HIDDEN, 'yes');
  }, [isAllDone]);
  if (!isShown || steps.length === 0 || isAllDone) return null;
  return (
    <Card
      title={say.site.firstSteps(done, steps.length)}
      data-test="first-steps"
      actions={
        <Button
          onClick={() => {
            localStorage.setItem(HIDDEN, 'yes');
            setHidden(true);
          }}
        >
          {say.site.hide}
        </Button>
      }
    >
      <ul class="first-steps">
        {steps.map(({ text, hint, href, isDone }) => (
          <li key={text} class={isDone ? 'done' : ''}>
            <span class="sign" aria-hidden="true">
              {isDone ? '✓' : ''}
            </span>
            {isDone ? (
              <span>
                {text}
                <span class="hidden">{say.site.alsoDone}</span>
              </span>
            ) : (
              <span>
                <a href={href}>{text}</a>
                <small>{hint}</small>
              </span>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}
