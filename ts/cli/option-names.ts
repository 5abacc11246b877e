/** What options are called on the command line that errors name as the code does. */
export const OPTION_NAMES: Readonly<Record<string, string>> = {
  allowedHosts: '--allowed-host',
  imageHosts: '--allow-private-image-hosts',
};
