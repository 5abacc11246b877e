// To be imported before a program: `/dev` seems to have the device files of three NVIDIA GPUs.
import fs from 'node:fs';

const { readdirSync } = fs;

fs.readdirSync = (folder, ...rest) => {
  const names = readdirSync(folder, ...rest);
  return folder === '/dev' ? [...names, 'nvidia0', 'nvidia1', 'nvidia2', 'nvidiactl'] : names;
};
