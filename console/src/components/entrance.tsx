// The frame of the pages for people who are not signed in.
import { Outlet } from 'react-router';
import { Bell } from '../ui/bell.tsx';

export function Entrance() {
  return (
    <>
      <header className="frame-header entrance-header">
        <Bell />
        <span style={{ fontWeight: 600, fontSize: 16 }}>Carillon</span>
      </header>
      <main id="main">
        <Outlet />
      </main>
    </>
  );
}
