package draw

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"fairlane/subnet"
)

// DOT writes the fabric as text for Graphviz: one graph node for each node, one edge for each link, and tiers on separate
// ranks. It fails for more than MaxNodes nodes and when w fails.
func DOT(w io.Writer, f *subnet.Fabric, o Options) error {
	p, err := newPicture(f, o)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "graph %s {\n  label=%s; labelloc=t; rankdir=TB; ranksep=1.2; splines=line;\n", quote("fabric"), quote(p.title()+": "+p.summary()))
	fmt.Fprint(b, "  node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=10]; edge [fontname=\"sans-serif\", fontsize=8, color=\"#7a8896\"];\n")
	for i := range f.Nodes {
		p.dotNode(b, int32(i))
	}
	for r := len(p.rows) - 1; r >= 0; r-- {
		p.dotRank(b, p.rows[r])
	}
	for i := range f.Links {
		l := &f.Links[i]
		fmt.Fprintf(b, "  n%d -- n%d [label=%s, taillabel=\"%d\", headlabel=\"%d\"%s];\n", l.A.Node, l.B.Node,
			quote(p.rates(&bundle{n: 1, links: []int32{int32(i)}})), l.A.Port, l.B.Port, dotMark(p.linkMark(l)))
	}
	fmt.Fprint(b, "}\n")
	return b.Flush()
}

func (p *picture) dotNode(w io.Writer, n int32) {
	text := p.name(n)
	if lid := p.lid(n); lid != 0 {
		text += fmt.Sprintf("\nLID %d", lid)
	}
	shape := ""
	if p.f.Nodes[n].Kind != subnet.KindSwitch {
		shape = ", shape=plaintext"
	}
	_, _ = fmt.Fprintf(w, "  n%d [label=%s, tooltip=%s%s%s];\n", n, quote(text), quote(p.f.Nodes[n].GUID.String()), shape, dotMark(p.o.Nodes[p.f.Nodes[n].GUID]))
}

func (p *picture) dotRank(w io.Writer, row []int32) {
	_, _ = fmt.Fprint(w, "  { rank=same;")
	for _, s := range row {
		_, _ = fmt.Fprintf(w, " n%d;", s)
	}
	_, _ = fmt.Fprint(w, " }\n")
}

// dotMark shows a mark by colour and by line style.
func dotMark(m Mark) string {
	switch m {
	case Info:
		return `, color="#2563eb"`
	case Warning:
		return `, color="#b45309", style=dashed, penwidth=2`
	case Error:
		return `, color="#dc2626", style=bold, penwidth=3`
	default:
		return ""
	}
}

// quote returns a Graphviz string: only quotes, backslashes and line ends need escaping.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", " ").Replace(s) + `"`
}
