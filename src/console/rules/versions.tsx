/** Earlier versions of a rule's script: what differs from the present one, and the way back. */
import { useState } from 'preact/hooks';
import { callFor } from '../api.ts';
import { momentText } from '../format.ts';
import { decodeScript } from '../script-text.ts';
import { may } from '../session.ts';
import { Awaited, Button, Card, ErrorNotice, useStored } from '../ui.tsx';
import type { Rule, RuleVersion } from '../shapes.ts';
import { useCheckedSave } from './checked-save.tsx';
import { lineChanges } from './line-changes.ts';
import { ruleAddress, type RuleText } from './engine.ts';
import { say } from '../words/later.ts';

const REFRESH_MS = 10_000;

export function RuleVersions({ rule, onRestored }: { rule: Rule; onRestored: () => void }) {
  const { answer, error } = useStored(
    () => callFor<RuleVersion[]>('rule_versions', 'GET', `${ruleAddress(rule.id)}/versions`),
    [rule.id, rule.script.code],
    REFRESH_MS,
  );
  const [shown, setShown] = useState<string | undefined>(undefined);
  const earlier = answer?.filter(({ current }) => !current) ?? [];
  if (!answer) return <Awaited answer={answer} error={error} />;
  return (
    <Card title={say.rules.versions}>
      <ErrorNotice error={error} />
      {earlier.length === 0 && <p class="hint">{say.rules.noVersions}</p>}
      <ul class="rows" data-test="versions">
        {earlier.map((version) => (
          <li key={version.id}>
            <span>
              {momentText(version.saved_at)}{' '}
              {version.saved_by !== null && say.rules.savedBy(version.saved_by)}
            </span>
            <Button
              aria-expanded={shown === version.id}
              onClick={() => setShown(shown === version.id ? undefined : version.id)}
            >
              {say.rules.differences}
            </Button>
            {shown === version.id && <Version rule={rule} version={version} onRestored={onRestored} />}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Version({
  rule,
  version,
  onRestored,
}: {
  rule: Rule;
  version: RuleVersion;
  onRestored: () => void;
}) {
  const code = decodeScript(version.script.code);
  const text: RuleText = {
    slug: rule.slug,
    code,
    runtime: version.script.runtime_version,
    interval: version.script.exec_interval ?? '',
  };
  const { action, question } = useCheckedSave(text, async () => {
    await callFor('rule', 'POST', `${ruleAddress(rule.id)}/versions/${version.id}/restore`);
    onRestored();
  });
  const changes = lineChanges(code, decodeScript(rule.script.code));
  return (
    <div style={{ flexBasis: '100%', minWidth: 0 }}>
      <p class="hint">{say.rules.differencesHint}</p>
      <div class="code">
        <pre>{changes.map(({ sign, line }) => `${sign} ${line}`).join('\n')}</pre>
      </div>
      <ErrorNotice error={action.error} />
      {may('OWNER') && <Button action={action}>{say.rules.restoreVersion}</Button>}
      {question}
    </div>
  );
}
