import { networkInterfaces } from 'node:os';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hostsOnTheWay, mayConnect } from '../../../ts/images/public-address.js';

const test = suite('unit: addresses that pictures may come from');

const PUBLIC = ['8.8.8.8', '93.184.216.34', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1450:4001::200e'];
const LOOPBACK = ['127.0.0.1', '127.255.255.254', '::1', '0:0:0:0:0:0:0:1'];
const PRIVATE: Record<string, string[]> = {
  private: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  'unspecified and broadcast': ['0.0.0.0', '0.1.2.3', '255.255.255.255', '::'],
  'link-local': ['169.254.0.1', 'fe80::1', 'febf::1', 'fec0::1'],
  metadata: ['169.254.169.254', '100.100.100.200', '192.0.0.192', '168.63.129.16', 'fd00:ec2::254'],
  'unique-local': ['fc00::1', 'fdff::1'],
  'carrier-grade NAT': ['100.64.0.1', '100.127.255.255'],
  multicast: ['224.0.0.1', '239.255.255.250', 'ff02::1'],
  reserved: ['240.0.0.1', '192.0.2.1', '198.51.100.1', '203.0.113.1', '198.18.0.1', '2001:db8::1', '100::1', '4000::1'],
  'IPv4 within IPv6': [
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::ffff:a9fe:a9fe',
    '::127.0.0.1',
    '::ffff:0:7f00:1',
    '64:ff9b::7f00:1',
    '64:ff9b::808:808',
    '64:ff9b:1::a00:1',
    '2002:7f00:1::',
    '2001:0:1::1',
  ],
  'no address': ['', 'localhost', '1.2.3.4.5', '1.2.3.4:80', '[::1]'],
};

test('public ones, whatever the hosts', () => {
  for (const address of PUBLIC) {
    assert.ok(mayConnect(address, 'public') && mayConnect(address, 'loopback') && mayConnect(address, 'any'), address);
  }
});

test('loopback, unless only public ones are', () => {
  for (const address of LOOPBACK) {
    assert.equal([mayConnect(address, 'public'), mayConnect(address, 'loopback')], [false, true], address);
  }
});

for (const [kind, addresses] of Object.entries(PRIVATE)) {
  test(`${kind}: only when any may be`, () => {
    for (const address of addresses) {
      assert.not.ok(mayConnect(address, 'public'), address);
      assert.not.ok(mayConnect(address, 'loopback'), address);
      assert.ok(mayConnect(address, 'any'), address);
    }
  });
}

test('this machine’s own addresses are not public, however they are written', () => {
  const own = () => ['127.0.0.1', '8.8.8.8', '2606:4700:0:0::1111', 'fe80::1'];
  for (const address of ['8.8.8.8', '2606:4700::1111', '2606:4700:0000::1111']) {
    assert.not.ok(mayConnect(address, 'public', own), address);
    assert.not.ok(mayConnect(address, 'loopback', own), address);
    assert.ok(mayConnect(address, 'any', own), address);
  }
  assert.ok(mayConnect('8.8.4.4', 'public', own));
  for (const { address } of Object.values(networkInterfaces()).flatMap((each) => each ?? [])) {
    assert.not.ok(mayConnect(address, 'public'), address);
  }
});

test('this machine is reached by whoever names it, and from there', () => {
  const here = ['localhost', 'LOCALHOST.', 'a.localhost', '127.0.0.1', '127.8.9.1', '[::1]'];
  const elsewhere = ['localhost.example', 'notlocalhost', '8.8.8.8', '[::ffff:127.0.0.1]', '[::]', '0.0.0.0', 'x.org'];
  for (const first of [...here, ...elsewhere]) {
    for (const next of [...here, ...elsewhere]) {
      const expected = here.includes(first) && here.includes(next) ? 'loopback' : 'public';
      assert.is(hostsOnTheWay(first, next, 'loopback'), expected, `${first} to ${next}`);
      assert.is(hostsOnTheWay(first, next, 'public'), 'public');
      assert.is(hostsOnTheWay(first, next, 'any'), 'any');
    }
  }
});

test.run();
