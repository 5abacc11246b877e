export function DownloadsView() {
  return <p>Soon</p>;
}
