export function SettingsView() {
  return <p>Soon</p>;
}
