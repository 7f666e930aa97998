/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse capture: options and output. Packets come from running processes (capture_live.c) or from a
 * file (capture_read.c). capture_packet() is called for each packet. It drops a packet that the
 * filters exclude (capture_filter.c), and prints any other as a line or as a row of a chart
 * (ladder/), or writes it to a pcapng file (pcapng.c).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/capture.h"
#include "cli/cli.h"
#include "ladder/ladder.h"
#include "wire/frame.h"

#define LADDER_KEEP 2000u	/* packets of a drawing */

static void capture_help(void)
{
	puts("usage: ruse capture [options]\n"
	     "Shows the RDMA packets of all programs of this user and network namespace, one per\n"
	     "line. Traffic through shared memory is shown as RoCEv2 packets.\n\n"
	     "  -l, --ladder           a sequence chart, with repeated packets, gaps, NAKs and faults\n"
	     "                         marked\n"
	     "  -o, --output FILE      with --ladder: draw it as SVG, the last 2000 packets; - is standard\n"
	     "                         output\n"
	     "  -w, --write FILE       write a pcapng file for Wireshark; - is standard output\n"
	     "  -r, --read FILE        read a pcap or pcapng file instead of programs\n"
	     "  -d, --device DEV       only packets of this device\n"
	     "  -q, --qp QPN           only packets from or to this QP number\n"
	     "  --opcode OP            only packets of this opcode (SEND_ONLY) or class (READ); repeatable\n"
	     "  --psn RANGE            only packets with this PSN, or these: FROM-TO\n"
	     "  --time RANGE           only packets from FROM-TO seconds after the first one\n"
	     "  -p, --program WHO      only packets from or to this process (PID) or program (name)\n"
	     "  -c, --count N          exit after N packets\n"
	     "  -s, --snaplen BYTES    write BYTES of each packet\n"
	     "  -h, --help");
}

struct options {
	struct capture_filter filter;
	const char *write, *read;
	bool ladder;
	const char *drawing;	/* file of the SVG drawing */
	long long count;	/* 0: no limit */
	long long snaplen;	/* bytes */
};

struct job {
	const struct options *o;
	struct live *live;	/* NULL: packets come from a file */
	struct pcapng *pcapng;	/* NULL: packets are printed */
	struct ladder *ladder;	/* NULL: no chart */
	struct ladder_style style;
	FILE *out;
	uint64_t seen;		/* packets before the filters */
	uint64_t packets, wrong;
	uint64_t start;		/* time of the first packet, before the filters; 0: none has come */
	const char *path;	/* the file that cannot be read or written; NULL: none */
	int err;		/* errno of the first failed write; 0: none */
};

static volatile sig_atomic_t ended;

static void on_signal(int sig)
{
	ended = 1;
}

static const char *address_text(const uint8_t gid[16], bool v4, char *buf)
{
	if (!inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? gid + 12 : gid, buf, INET6_ADDRSTRLEN))
		return "?";
	return buf;
}

static void print_time(FILE *f, uint64_t ns)
{
	time_t t = (time_t)(ns / NS_S);
	struct tm tm;
	char text[16];

	if (!localtime_r(&t, &tm) || !strftime(text, sizeof(text), "%T", &tm))
		strcpy(text, "?");
	fprintf(f, "%s.%09u", text, (unsigned int)(ns % NS_S));
}

static const char *const kinds[] = {
	[FRAME_ROCE] = "",
	[FRAME_ICRC] = " [wrong ICRC]",
	[FRAME_CUT] = " [cut]",
	[FRAME_OTHER] = "",
};

_Static_assert(ARRAY_SIZE(kinds) == FRAME_NKINDS, "a word for each kind");

static void print_packet(struct job *j, const struct captured *p, const struct frame *f,
			 enum frame_kind kind)
{
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN], line[2048];
	bool v4 = net_is_v4(&f->net);
	uint32_t cnp;

	print_time(j->out, p->ns);
	if (*p->dev)
		fprintf(j->out, " %s", p->dev);
	if (p->pid)
		fprintf(j->out, " %s %d %s", p->in ? "in" : "out", p->pid, p->comm);
	if (cnp_get(f->packet, f->len, &cnp))
		snprintf(line, sizeof(line), "CNP qp 0x%x", cnp);
	else
		packet_print(f->packet, f->len, line, sizeof(line));
	fprintf(j->out, " %s > %s: %s%s", address_text(f->net.sgid, v4, src),
		address_text(f->net.dgid, v4, dst), line, kinds[kind]);
	if (*p->note)
		fprintf(j->out, " [%s]", p->note);
	fputc('\n', j->out);
}

/* Notes the reason if writing has just failed. 0 or -errno. */
static int capture_wrote(struct job *j, bool failed)
{
	if (failed && !j->err) {
		j->err = errno ? errno : EIO;
		j->path = j->o->write ? j->o->write : j->o->drawing;
	}
	return -j->err;
}

/* hidden: the packet does not pass the filters. */
static int ladder_packet(struct job *j, const struct captured *c, bool hidden)
{
	const struct ladder_packet p = {
		.ns = c->ns, .frame = c->frame, .caplen = c->caplen, .len = c->len,
		.note = c->note, .sqpn = c->sqpn, .pid = c->in ? 0 : c->pid, .comm = c->comm,
		.hidden = hidden,
	};

	return ladder_add(j->ladder, &p, j->o->drawing ? NULL : j->out, &j->style);
}

/* captured_fn: filters and outputs a packet. 1: --count is reached. */
static int capture_packet(const struct captured *p, void *arg)
{
	struct captured c = *p;
	struct job *j = arg;
	enum frame_kind kind;
	struct frame f;
	struct bth bth;

	if (j->err)
		return -j->err;
	kind = frame_parse(p->frame, p->caplen, &f);
	if (kind == FRAME_OTHER || f.len < BTH_LEN)
		return 0;
	bth_get(f.packet, &bth);
	if (!j->live)
		c.dqpn = bth.dqpn;
	if (!j->start) {
		j->start = c.ns;
		if (j->ladder)
			ladder_zero(j->ladder, c.ns);
	}
	j->seen++;
	if (!capture_filter_wants(&j->o->filter, j->live, &c, &bth,
				  c.ns > j->start ? c.ns - j->start : 0))
		return j->ladder && ladder_packet(j, &c, true) == -ENOMEM ? -ENOMEM : 0;
	c.caplen = (uint32_t)min((long long)c.caplen, j->o->snaplen);
	if (j->ladder) {
		if (ladder_packet(j, &c, false) == -ENOMEM)
			return -ENOMEM;
	} else if (j->pcapng) {
		pcapng_packet(j->pcapng, &c);
	} else {
		print_packet(j, &c, &f, kind);
	}
	if (capture_wrote(j, ferror(j->out)))
		return -j->err;
	j->wrong += kind == FRAME_ICRC;
	return ++j->packets == (uint64_t)j->o->count ? 1 : 0;
}

static int from_file(struct job *j)
{
	FILE *f = strcmp(j->o->read, "-") ? fopen(j->o->read, "rbe") : stdin;
	struct stat st;
	int rc;

	if (f && !fstat(fileno(f), &st) && S_ISDIR(st.st_mode))
		rc = -EISDIR;
	else
		rc = f ? capture_read(f, capture_packet, j) : -errno;
	if (rc < 0 && !j->err)
		j->path = j->o->read;
	if (!f)
		return rc;
	if (f != stdin)
		fclose(f);
	return min(rc, 0);
}

static int from_programs(struct job *j)
{
	struct sigaction sa = { .sa_handler = on_signal };
	int rc = 0;

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	fputs("ruse capture: running; stop it with Ctrl-C (SIGINT)\n", stderr);
	while (!rc && !ended) {
		rc = live_poll(j->live, false, capture_packet, j);
		rc = capture_wrote(j, fflush(j->out)) ? -j->err : rc;
	}
	if (!rc)
		rc = live_poll(j->live, true, capture_packet, j);
	return min(rc, 0);
}

/* The width of the terminal, else 80; colours on a terminal, unless NO_COLOR is set. */
static void ladder_terminal(struct ladder_style *style)
{
	struct winsize size = { .ws_col = 0 };
	const char *none = getenv("NO_COLOR");

	*style = (struct ladder_style){ .columns = 80, .colour = isatty(STDOUT_FILENO) && !(none && *none) };
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		style->columns = size.ws_col;
}

/*
 * Opens the output: --write FILE writes pcapng to a file, --output FILE draws a chart, "-" is standard output; else text is
 * printed. 0 or -errno.
 */
static int open_output(struct job *j)
{
	const char *path = j->o->write ? j->o->write : j->o->drawing;

	j->out = path && strcmp(path, "-") ? fopen(path, "wbe") : stdout;
	if (!j->out)
		return capture_wrote(j, true);
	if (j->o->ladder) {
		ladder_terminal(&j->style);
		j->ladder = ladder_new(j->o->drawing ? LADDER_KEEP : 0);
		return j->ladder ? 0 : -ENOMEM;
	}
	if (path)
		j->pcapng = pcapng_open(j->out, (uint32_t)j->o->snaplen);
	return path && !j->pcapng ? -ENOMEM : 0;
}

static int capture_run(const struct options *o)
{
	struct job j = { .o = o };
	uint64_t lost = 0;
	int rc;

	if (!o->read) {
		j.live = live_open(o->write ? (uint32_t)o->snaplen : FRAME_MAX);
		if (!j.live)
			return 1;
	}
	rc = open_output(&j);
	if (!rc)
		rc = o->read ? from_file(&j) : from_programs(&j);
	if (j.live) {
		lost = live_lost(j.live);
		live_close(j.live);
	}
	if (j.pcapng)
		pcapng_close(j.pcapng, lost);
	if (j.ladder && o->drawing)
		ladder_svg(j.ladder, j.out, o->read ? o->read : "ruse capture", true);
	ladder_free(j.ladder);
	if (j.out && capture_wrote(&j, fflush(j.out) || ferror(j.out)) && !rc)
		rc = -j.err;
	if (j.out && j.out != stdout && capture_wrote(&j, fclose(j.out)) && !rc)
		rc = -j.err;
	if (!rc || j.packets || lost) {
		fprintf(stderr, "ruse capture: %" PRIu64 " packets, %" PRIu64 " lost", j.packets, lost);
		if (j.wrong)
			fprintf(stderr, ", %" PRIu64 " with a wrong ICRC", j.wrong);
		if (!j.packets && j.seen)
			fprintf(stderr, "; the filters match none of %" PRIu64, j.seen);
		fputc('\n', stderr);
	}
	/* cli_out_end() tells why standard output could not be written. */
	if (rc && !(j.err && j.out == stdout))
		fprintf(stderr, "ruse capture: %s%s%s\n", j.path ? j.path : "", j.path ? ": " : "",
			rc == -EPROTO ? "not a complete capture file of Ethernet frames or of tcpdump -i any" :
					strerror(-rc));
	return rc ? 1 : 0;
}

/* Stores an option. False: its argument is invalid. */
static bool capture_option(struct options *o, int opt, const char *arg)
{
	int rc = capture_filter_option(&o->filter, opt, arg);

	if (rc <= 0)
		return !rc;
	switch (opt) {
	case 'w':
		o->write = arg;
		return true;
	case 'r':
		o->read = arg;
		return true;
	case 'l':
		o->ladder = true;
		return true;
	case 'o':
		o->drawing = arg;
		return *arg;
	case 'c':
		return capture_number(arg, 1, INT64_MAX, &o->count);
	case 's':
		return capture_number(arg, 64, INT32_MAX, &o->snaplen);
	default:
		return false;
	}
}

static void capture_invalid(int opt, const char *name, const char *arg)
{
	char letter[3] = { '-', (char)opt, '\0' };

	fprintf(stderr, "ruse capture: %s%s: '%s' is not %s\n", opt < CAPTURE_OPCODE ? letter : "--",
		opt < CAPTURE_OPCODE ? "" : name, arg,
		opt == 'c' ? "a number of packets, from 1" :
		opt == 's' ? "a number of bytes, from 64" :
		opt == 'o' ? "a file" : capture_filter_expects(opt));
}

/* False: options that do not fit together, which it tells. */
static bool capture_check(const struct options *o)
{
	const char *why = NULL;

	if (o->read && o->filter.who)
		why = "-p and -r exclude each other: a capture file does not hold the names of programs";
	else if (o->ladder && o->write)
		why = "--ladder and -w exclude each other: write the packets, then `ruse capture --ladder -r FILE`";
	else if (o->drawing && !o->ladder)
		why = "-o draws a chart: use --ladder as well; -w FILE writes the packets";
	if (why)
		fprintf(stderr, "ruse capture: %s\n", why);
	return !why;
}

/* Tells if rused runs and no device has this name: it may be added later. */
static void capture_check_dev(const char *dev)
{
	char *names = cli_rused_devices();
	bool found = !names;

	for (char *rest = names, *name; rest && (name = strsep(&rest, " "));)
		found |= !strcmp(name, dev);
	if (!found)
		fprintf(stderr, "ruse capture: there is no device '%s' yet; `ruse status` lists the devices\n",
			dev);
	free(names);
}

int cmd_capture(int argc, char **argv)
{
	static const struct option options[] = {
		{ "ladder", no_argument, NULL, 'l' },
		{ "output", required_argument, NULL, 'o' },
		{ "write", required_argument, NULL, 'w' },
		{ "read", required_argument, NULL, 'r' },
		{ "device", required_argument, NULL, 'd' },
		{ "qp", required_argument, NULL, 'q' },
		{ "opcode", required_argument, NULL, CAPTURE_OPCODE },
		{ "psn", required_argument, NULL, CAPTURE_PSN },
		{ "time", required_argument, NULL, CAPTURE_TIME },
		{ "program", required_argument, NULL, 'p' },
		{ "count", required_argument, NULL, 'c' },
		{ "snaplen", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	struct options o = { .filter.qpn = -1, .snaplen = 256 << 10 };
	int opt, at = 0;

	argv[0] = (char *)"ruse capture";	/* for getopt's messages */
	while ((opt = getopt_long(argc, argv, "lo:w:r:d:q:p:c:s:h", options, &at)) != -1) {
		if (opt == 'h') {
			capture_help();
			return 0;
		}
		if (opt == '?')
			return EXIT_USAGE;
		if (!capture_option(&o, opt, optarg)) {
			capture_invalid(opt, options[at].name, optarg);
			return EXIT_USAGE;
		}
	}
	if (optind != argc) {
		fprintf(stderr, "ruse capture: unexpected argument '%s'\n", argv[optind]);
		return EXIT_USAGE;
	}
	if (!capture_check(&o))
		return EXIT_USAGE;
	if (o.filter.dev && !o.read)
		capture_check_dev(o.filter.dev);
	return capture_run(&o);
}
