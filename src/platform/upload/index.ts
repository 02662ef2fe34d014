export { readUpload } from './upload.ts';
