/** The pieces that pages are made of. */
export { type Action, useAction, useAnswer, useFollow, useRefresh, useStored } from './ui/requests.ts';
export { AskButton, Dialog, openDialogs, Question } from './ui/dialog.tsx';
export {
  Check,
  type Choice,
  Field,
  Form,
  giveUpTyped,
  Input,
  InputField,
  isSomethingTyped,
  SecretField,
  Select,
  SelectField,
} from './ui/form.tsx';
export { lazy } from './ui/lazy.tsx';
export {
  Awaited,
  Button,
  Card,
  Empty,
  ErrorNotice,
  Late,
  Loading,
  Notice,
  PageHead,
} from './ui/components.tsx';
export { Rows } from './ui/rows.tsx';
export { PictureTable } from './ui/table.tsx';
