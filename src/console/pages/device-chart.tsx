/** Values of a device over time. */
import { useState } from 'preact/hooks';
import { words } from '../format.ts';
import { HistoryView } from '../history/view.tsx';
import type { LiveDevice } from '../live.ts';
import { drawable, mainValues } from '../main-values.ts';
import { say } from '../words/index.ts';

const CHOSEN_FIRST = 2;

export function ChartTab({ live }: { live: LiveDevice }) {
  const names = live.manifest ? drawable(live.manifest) : [];
  const [chosen, setChosen] = useState<readonly string[]>(() => firstChoice(live));
  const [window, setWindow] = useState('hour');
  return (
    <HistoryView
      chosen={chosen.map((attribute) => ({ live, attribute }))}
      window={window}
      onWindow={setWindow}
    >
      <fieldset class="choices">
        <legend>{say.everywhere.values}</legend>
        {names.map((name) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={() =>
                setChosen(chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name])
              }
            />
            {live.manifest?.telemetry[name]?.display_name ?? words(name)}
          </label>
        ))}
      </fieldset>
    </HistoryView>
  );
}

function firstChoice({ manifest }: LiveDevice): string[] {
  return manifest ? mainValues(manifest).numbers.slice(0, CHOSEN_FIRST) : [];
}
