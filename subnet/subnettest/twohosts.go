package subnettest

// TwoHosts is a small fabric file.
const TwoHosts = `version: 1
name: two
nodes:
  - {name: s1, kind: switch, ports: 2}
  - {name: h1, kind: host}
  - {name: h2, kind: host}
links:
  - {a: "h1:1", b: "s1:1", rate: 100Gbit/s}
  - {a: "h2:1", b: "s1:2", rate: 100Gbit/s}
`
