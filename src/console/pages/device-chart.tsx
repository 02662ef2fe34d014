/** Values of a device over time. */
import { useState } from 'preact/hooks';
import { attributeTitle } from '../format.ts';
import { HistoryView } from '../history/view.tsx';
import type { LiveDevice } from '../live.ts';
import { drawable, mainValues } from '../main-values.ts';
import { matchesSearch } from '../text-search.ts';
import { FindValue } from '../parts/find-value.tsx';
import { useDevice } from '../parts/whole-device.ts';
import { say } from '../words/index.ts';

const CHOSEN_FIRST = 2;

export function ChartTab({ live }: { live: LiveDevice }) {
  const { manifest } = useDevice(live);
  const names = manifest ? drawable(manifest) : [];
  const [chosen, setChosen] = useState<readonly string[]>(() => firstChoice(live));
  const [window, setWindow] = useState('hour');
  const [text, setText] = useState('');
  const titleOf = (name: string): string => attributeTitle(name, manifest?.telemetry[name]);
  // A chosen value is always listed, so that it can be removed.
  const shown = names.filter((name) => chosen.includes(name) || matchesSearch(titleOf(name), text));
  return (
    <HistoryView
      chosen={chosen.map((attribute) => ({ live, attribute }))}
      window={window}
      onWindow={setWindow}
    >
      <FindValue count={names.length} text={text} onText={setText} />
      <fieldset class="choices">
        <legend>{say.everywhere.values}</legend>
        {shown.map((name) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={() =>
                setChosen(chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name])
              }
            />
            {titleOf(name)}
          </label>
        ))}
      </fieldset>
    </HistoryView>
  );
}

function firstChoice({ manifest }: LiveDevice): string[] {
  return manifest ? mainValues(manifest).numbers.slice(0, CHOSEN_FIRST) : [];
}
