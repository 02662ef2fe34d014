/** For a try without hardware: a house simulated by a script, whose blueprint is shipped with the console. */
import { call, callForFile } from '../api.ts';
import { listBlueprints } from '../parts/blueprint-choice.tsx';
import { ErrorNotice, useAction } from '../ui.tsx';
import type { Blueprint } from '../shapes.ts';
import { say } from '../words/later.ts';

const ZIP = '/simulated-house.zip';
/** As its manifest says. */
const TITLE = 'Simulated House';

/** @param known who has chosen it before goes on with the same blueprint */
export function SimulatedDevice({
  known,
  onChosen,
}: {
  known: readonly Blueprint[];
  onChosen: (blueprint: Blueprint) => void;
}) {
  const choosing = useAction(async () => {
    const blueprint = known.find(isSimulated) ?? (await uploadBlueprint(await readZip())).blueprint;
    if (blueprint) onChosen(blueprint);
  });
  return (
    <>
      <ul class="ways">
        <li>
          <button type="button" disabled={choosing.isBusy} onClick={() => void choosing.start()}>
            <b>{say.adding.trySimulated}</b>
            <small>{say.adding.simulatedHint}</small>
          </button>
        </li>
      </ul>
      <ErrorNotice error={choosing.error} />
    </>
  );
}

const isSimulated = ({ source, display_name: title, has_script: hasScript }: Blueprint): boolean =>
  source === 'UPLOADED' && title === TITLE && hasScript;

const readZip = async (): Promise<Blob> => (await callForFile('GET', ZIP, undefined)).content;

/** Stores the blueprint of a zip, as any client does. */
export async function uploadBlueprint(
  zip: Blob,
): Promise<{ blueprint: Blueprint | undefined; warnings: readonly string[] }> {
  const { id, warnings = [] } = await call<{ id: string; warnings?: string[] }>(
    'POST',
    '/v3/blueprints/upload',
    zip,
  );
  return { blueprint: (await listBlueprints()).find((blueprint) => blueprint.id === id), warnings };
}
