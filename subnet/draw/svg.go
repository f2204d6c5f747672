package draw

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"fairlane/subnet"
)

// Sizes in pixels, if not stated otherwise.
const (
	margin     = 24
	headHeight = 64 // title, counts and legend
	boxHeight  = 38
	letter     = 6.6 // mean width of a letter at 11 pixels
	boxGap     = 22
	rowGap     = 150 // between tiers; more with many links
	lineHeight = 15  // of a host in a list
	listRows   = 18  // hosts in a column
	listGap    = 10
	maxName    = 26 // maximum number of letters of a name; the tooltip has the whole name
	labelled   = 40 // up to this number of bundles each shows its rate
	detailed   = 96 // up to this number of hosts each shows its rate and LID
)

// position is the position of a node: the middle of its upper and lower edge.
type position struct{ x, top, bottom float64 }

// sheet is a picture with positions.
type sheet struct {
	*picture
	w             *bufio.Writer
	width, height float64
	at            map[int32]position
	size          map[int32]float64 // width of a switch's box
	block         map[int32]float64 // width of a leaf with its hosts
	column        map[int32]float64 // width of a column of a leaf's hosts
	place         map[int32]int     // position of a switch in its row, from the left
}

// SVG writes the fabric as a picture with a fixed size in pixels, for any browser. Names and GUIDs are in tooltips. It
// fails for more than MaxNodes nodes and when w fails.
func SVG(w io.Writer, f *subnet.Fabric, o Options) error {
	p, err := newPicture(f, o)
	if err != nil {
		return err
	}
	s := &sheet{picture: p, w: bufio.NewWriter(w), at: make(map[int32]position), size: make(map[int32]float64), block: make(map[int32]float64), column: make(map[int32]float64), place: make(map[int32]int)}
	s.layout()
	s.open()
	s.bundleLines()
	for _, row := range p.rows {
		for _, n := range row {
			s.box(n)
			s.hostList(n)
		}
	}
	for _, n := range p.detached {
		s.box(n)
	}
	s.print("</svg>\n")
	return s.w.Flush()
}

func (s *sheet) print(format string, args ...any) { _, _ = fmt.Fprintf(s.w, format, args...) }

// shown returns the displayed form of a name.
func shown(name string) string {
	r := []rune(name)
	if len(r) <= maxName {
		return name
	}
	return string(r[:maxName-1]) + "…"
}

func textWidth(s string) float64 { return float64(len([]rune(s))) * letter }

// boxText returns the second line of a box.
func (s *sheet) boxText(n int32) string {
	up := 0
	for i := range s.f.Nodes[n].Ports {
		if s.f.Nodes[n].Ports[i].Link >= 0 {
			up++
		}
	}
	text := fmt.Sprintf("%d of %d ports", up, len(s.f.Nodes[n].Ports)-1)
	if lid := s.lid(n); lid != 0 {
		text = fmt.Sprintf("LID %d, %s", lid, text)
	}
	return text
}

// hostText returns the text after a host's name in a list.
func (s *sheet) hostText(h int32) string {
	if len(s.f.Hosts()) > detailed {
		return ""
	}
	l, i := s.f.Link(s.ports[h])
	if l == nil {
		return ""
	}
	text := "  " + s.rates(&bundle{n: 1, links: []int32{i}})
	if lid := s.lid(h); lid != 0 {
		text += fmt.Sprintf(", LID %d", lid)
	}
	return text
}

// layout computes the positions of all nodes and the size of the sheet.
func (s *sheet) layout() {
	most, tallest := 0.0, 0
	head, level := s.arrangeRows()
	for r, row := range s.rows {
		total := 0.0
		for _, n := range row {
			if s.measure(n); level[r] {
				s.block[n] += 60 // for the labels on the lines
			}
			if r == 0 {
				tallest = max(tallest, min(len(s.hosts[n]), listRows))
			}
			total += s.block[n] + boxGap
		}
		most = max(most, total-boxGap)
	}
	detached := 0.0
	for _, n := range s.detached {
		s.measure(n)
		detached += s.block[n] + boxGap
	}
	const widest = 4000 // maximum width of a line of nodes that belong to no row
	s.width = max(most, min(detached, widest), 420) + 2*margin
	y := float64(headHeight+margin) + head
	for r := len(s.rows) - 1; r >= 0; r-- {
		s.placeRow(s.rows[r], y)
		y += boxHeight
		if r > 0 {
			y += s.gap(r)
		}
	}
	if tallest > 0 {
		y += float64(tallest*lineHeight) + margin
	}
	s.height = s.placeDetached(y+margin) + margin
}

// curveHeight returns the height, at the middle, of the line between two switches of one row; apart is the difference of
// their positions. The control point of the curve is twice as high. Neighbours are joined side by side.
func curveHeight(apart int) float64 { return min(float64(apart)*12, 80) }

// arrangeRows computes the positions of all switches in their rows, the room that lines above the top row need, and which rows
// have lines between their own switches.
func (s *sheet) arrangeRows() (room float64, level []bool) {
	level = make([]bool, len(s.rows))
	for _, row := range s.rows {
		for i, n := range row {
			s.place[n] = i
		}
	}
	for _, b := range s.bundles() {
		tier := s.tiers[b.a]
		if tier == 0 || tier != s.tiers[b.b] {
			continue
		}
		level[tier-1] = true
		if apart := s.apart(&b); tier == len(s.rows) && apart > 1 {
			room = max(room, curveHeight(apart))
		}
	}
	return room, level
}

func (s *sheet) apart(b *bundle) int {
	return max(s.place[b.a]-s.place[b.b], s.place[b.b]-s.place[b.a])
}

// gap returns the room below a row: more where many lines cross.
func (s *sheet) gap(r int) float64 {
	return rowGap + min(float64(len(s.rows[r-1])+len(s.rows[r]))*2, 250)
}

func (s *sheet) measure(n int32) {
	s.size[n] = max(textWidth(shown(s.name(n)))*1.1, textWidth(s.boxText(n))*0.85, 56) + 18
	widest := 0.0
	for _, h := range s.hosts[n] {
		widest = max(widest, textWidth(shown(s.name(h))+s.hostText(h))+26)
	}
	s.column[n] = widest
	columns := (len(s.hosts[n]) + listRows - 1) / listRows
	s.block[n] = max(s.size[n], widest*float64(columns)+listGap)
}

func (s *sheet) placeRow(row []int32, y float64) {
	total := 0.0
	for _, n := range row {
		total += s.block[n]
	}
	spread := (s.width - 2*margin - total) / float64(len(row))
	x := float64(margin)
	for _, n := range row {
		x += spread / 2
		s.at[n] = position{x: x + s.block[n]/2, top: y, bottom: y + boxHeight}
		x += s.block[n] + spread/2
	}
}

// placeDetached places the nodes outside of rows on lines.
func (s *sheet) placeDetached(y float64) float64 {
	x := float64(margin)
	for i, n := range s.detached {
		if i > 0 && x+s.size[n] > s.width-margin {
			x, y = margin, y+2*boxHeight
		}
		s.at[n] = position{x: x + s.size[n]/2, top: y, bottom: y + boxHeight}
		x += s.size[n] + 3*boxGap
	}
	if len(s.detached) > 0 {
		y += boxHeight
	}
	return y
}

// style draws marks by colour and by line style, so that they differ without colour.
const style = `<style>
text{font:11px sans-serif;fill:#1f2933}
.t{font-size:16px;font-weight:bold}.n{font-weight:bold}.s{font-size:9.5px;fill:#52606d}
.b{fill:#eef2f7;stroke:#52606d}.l{stroke:#7a8896;stroke-width:1.2;fill:none}
.m1{stroke:#2563eb}.m2{stroke:#b45309;stroke-width:2.2;stroke-dasharray:6 3}.m3{stroke:#dc2626;stroke-width:3}
.b.m1{fill:#eaf1fe}.b.m2{fill:#fdf3e3}.b.m3{fill:#fde8e8}
.d{fill:#7a8896}.d.m1,.d.m2,.d.m3{stroke:none}.d.m1{fill:#2563eb}.d.m2{fill:#b45309}.d.m3{fill:#dc2626}
.f1{fill:#1d4ed8}.f2{fill:#92400e}.f3{fill:#b91c1c}
.p{fill:#fff;fill-opacity:.85}
</style>
`

func (s *sheet) open() {
	s.print(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img">`+"\n", s.width, s.height, s.width, s.height)
	s.print("<title>%s</title>\n%s", escape(s.title()+": "+s.summary()), style)
	s.print(`<rect width="100%%" height="100%%" fill="#fff"/>` + "\n")
	s.print(`<text class="t" x="%d" y="28">%s</text><text class="s" x="%d" y="46">%s</text>`+"\n", margin, escape(s.title()), margin, escape(s.summary()))
	x := float64(margin)
	for m := Info; m <= Error; m++ {
		n := s.marked(m)
		if n == 0 {
			continue
		}
		text := fmt.Sprintf("%s: %d", m.word(), n)
		s.print(`<line class="l m%d" x1="%.1f" y1="60" x2="%.1f" y2="60"/><text class="s f%d" x="%.1f" y="63">%s</text>`+"\n", m, x, x+28, m, x+33, text)
		x += 33 + textWidth(text) + 16
	}
}

// marked counts the nodes and links that have a mark.
func (s *sheet) marked(m Mark) int {
	n := 0
	for i := range s.f.Nodes {
		if s.o.Nodes[s.f.Nodes[i].GUID] == m {
			n++
		}
	}
	for i := range s.f.Links {
		if s.linkMark(&s.f.Links[i]) == m {
			n++
		}
	}
	return n
}

// bundleLines draws the lines, marked ones last and so on top.
func (s *sheet) bundleLines() {
	all := s.bundles()
	dimmed := ""
	if len(all) > labelled {
		dimmed = fmt.Sprintf(` stroke-opacity="%.2f"`, max(0.25, 12/float64(len(all))+0.3))
	}
	for m := Plain; m <= Error; m++ {
		for i := range all {
			if b := &all[i]; b.mark == m {
				s.line(b, dimmed, len(all) <= labelled)
			}
		}
	}
}

func (s *sheet) line(b *bundle, dimmed string, label bool) {
	from, okA := s.at[b.a]
	to, okB := s.at[b.b]
	if !okA {
		from, okA = s.hostPosition(b.a)
	}
	if !okB {
		to, okB = s.hostPosition(b.b)
	}
	if !okA || !okB {
		return
	}
	if from.top > to.top {
		from, to = to, from
	}
	y1, y2 := from.bottom, to.top
	if b.mark != Plain {
		dimmed = ""
	}
	x, y := from.x*0.4+to.x*0.6, y1*0.4+y2*0.6
	switch level := from.top == to.top && s.tiers[b.a] > 0 && s.tiers[b.b] > 0; {
	case level && s.apart(b) == 1:
		left, right := b.a, b.b
		if s.at[left].x > s.at[right].x {
			left, right = right, left
		}
		x, y = (s.at[left].x+s.size[left]/2+s.at[right].x-s.size[right]/2)/2, from.top+boxHeight/2-5
		s.print(`<line class="l m%d"%s x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"><title>%s</title></line>`+"\n",
			b.mark, dimmed, s.at[left].x+s.size[left]/2, y+5, s.at[right].x-s.size[right]/2, y+5, escape(s.bundleTitle(b)))
	case from.top == to.top:
		high := curveHeight(max(s.apart(b), 2))
		x, y = (from.x+to.x)/2, from.top-high+4
		s.print(`<path class="l m%d"%s d="M%.1f %.1f Q%.1f %.1f %.1f %.1f"><title>%s</title></path>`+"\n",
			b.mark, dimmed, from.x, from.top, x, from.top-2*high, to.x, to.top, escape(s.bundleTitle(b)))
	default:
		s.print(`<line class="l m%d"%s x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"><title>%s</title></line>`+"\n", b.mark, dimmed, from.x, y1, to.x, y2, escape(s.bundleTitle(b)))
	}
	if label {
		text := s.rates(b)
		s.print(`<rect class="p" x="%.1f" y="%.1f" width="%.1f" height="13"/><text class="s" text-anchor="middle" x="%.1f" y="%.1f">%s</text>`+"\n",
			x-textWidth(text)*0.45, y-10, textWidth(text)*0.9, x, y, escape(text))
	}
}

// hostPosition returns the position of a host in its list.
func (s *sheet) hostPosition(h int32) (position, bool) {
	leaf, ok := s.home[h]
	if !ok {
		return position{}, false
	}
	for i, other := range s.hosts[leaf] {
		if other == h {
			x, y := s.listPlace(leaf, i)
			return position{x: x, top: y, bottom: y}, true
		}
	}
	return position{}, false
}

func (s *sheet) bundleTitle(b *bundle) string {
	var t strings.Builder
	fmt.Fprintf(&t, "%s - %s: %s", s.name(b.a), s.name(b.b), s.rates(b))
	for i, k := range b.links {
		if i == 16 {
			t.WriteString("\n…")
			break
		}
		l := &s.f.Links[k]
		fmt.Fprintf(&t, "\n%s - %s", s.f.PortName(l.A), s.f.PortName(l.B))
		if m := s.linkMark(l); m != Plain {
			fmt.Fprintf(&t, " (%s)", m.word())
		}
	}
	return t.String()
}

// flag returns the text before the name of a marked node.
func flag(m Mark) string {
	switch m {
	case Warning:
		return "! "
	case Error:
		return "✗ "
	default:
		return ""
	}
}

func (s *sheet) box(n int32) {
	at, w, m := s.at[n], s.size[n], s.o.Nodes[s.f.Nodes[n].GUID]
	s.print(`<g><title>%s</title><rect class="b m%d" rx="5" x="%.1f" y="%.1f" width="%.1f" height="%d"/>`, escape(s.f.Nodes[n].Kind.String()+" "+s.name(n)+"\n"+s.f.Nodes[n].GUID.String()), m, at.x-w/2, at.top, w, boxHeight)
	s.print(`<text class="n f%d" text-anchor="middle" x="%.1f" y="%.1f">%s</text>`, m, at.x, at.top+16, escape(flag(m)+shown(s.name(n))))
	s.print(`<text class="s" text-anchor="middle" x="%.1f" y="%.1f">%s</text></g>`+"\n", at.x, at.top+30, escape(s.boxText(n)))
}

// listPlace returns the position of the dot of a leaf's i-th host.
func (s *sheet) listPlace(leaf int32, i int) (x, y float64) {
	columns := (len(s.hosts[leaf]) + listRows - 1) / listRows
	left := s.at[leaf].x - s.column[leaf]*float64(columns)/2
	return left + float64(i/listRows)*s.column[leaf] + 12, s.at[leaf].bottom + float64(i%listRows+1)*lineHeight + 4
}

// hostList draws the hosts of a leaf as a list below it.
func (s *sheet) hostList(leaf int32) {
	hosts := s.hosts[leaf]
	for i := 0; i < len(hosts); i += listRows {
		x, _ := s.listPlace(leaf, i)
		_, end := s.listPlace(leaf, min(i+listRows, len(hosts))-1)
		from := s.at[leaf]
		s.print(`<path class="l" d="M%.1f %.1f L%.1f %.1f V%.1f"/>`+"\n", min(max(x, from.x-s.size[leaf]/2+6), from.x+s.size[leaf]/2-6), from.bottom, x, from.bottom+8, end)
	}
	for i, h := range hosts {
		x, y := s.listPlace(leaf, i)
		m := s.hostMark(h)
		s.print(`<g><title>%s</title><circle class="d m%d" cx="%.1f" cy="%.1f" r="3.2"/><text class="f%d" x="%.1f" y="%.1f">%s<tspan class="s">%s</tspan></text></g>`+"\n",
			escape(s.name(h)+" "+s.f.Nodes[h].GUID.String()), m, x, y, m, x+8, y+4, escape(flag(m)+shown(s.name(h))), escape(s.hostText(h)))
	}
}

// escape returns text for SVG, without characters that XML cannot hold.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder never fails
	return b.String()
}
