export { readUpload, type UploadRequest } from './upload.ts';
