/** The head of the history pages with its two tabs. */
import { PageHead } from '../ui.tsx';
import { partOf, tabAt, Tabs } from '../ui/page-components.tsx';
import { say } from '../words/index.ts';

/** In the address, in place of a time range. */
export const ENERGY = 'energy';

const TABS = [
  { key: '', text: say.everywhere.values },
  { key: ENERGY, text: say.history.energy },
];

export function HistoryHead({ tab }: { tab: '' | typeof ENERGY }) {
  return (
    <div class="with-tabs">
      <PageHead title={say.everywhere.history} part={partOf(tabAt(TABS, tab))} />
      <Tabs name={say.everywhere.history} base="#/history" tabs={TABS} current={tabAt(TABS, tab)} />
    </div>
  );
}
