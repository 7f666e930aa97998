/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse capture: options, filters and output. Packets come from running processes
 * (capture_live.c) or from a file (capture_read.c). capture_packet() is called for each packet. It
 * drops a packet that the options exclude, and prints any other as a line or writes it to a pcapng
 * file (pcapng.c).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/capture.h"
#include "cli/cli.h"
#include "wire/frame.h"

static void capture_help(void)
{
	puts("usage: ruse capture [options]\n"
	     "Shows the RDMA packets of all programs of this user and network namespace, one per\n"
	     "line. Traffic through shared memory is shown as RoCEv2 packets.\n\n"
	     "  -w, --write FILE       write a pcapng file for Wireshark; - is standard output\n"
	     "  -r, --read FILE        read a pcap or pcapng file instead of programs\n"
	     "  -d, --device DEV       only packets of this device\n"
	     "  -q, --qp QPN           only packets from or to this QP number\n"
	     "  -p, --program WHO      only packets from or to this process (PID) or program (name)\n"
	     "  -c, --count N          exit after N packets\n"
	     "  -s, --snaplen BYTES    write BYTES of each packet\n"
	     "  -h, --help");
}

struct options {
	const char *write, *read, *dev, *who;
	long long qpn;		/* -1: any */
	long long count;	/* 0: no limit */
	long long snaplen;	/* bytes */
	long pid;		/* the argument of --program as a number; 0: it is a name */
};

struct job {
	const struct options *o;
	struct live *live;	/* NULL: packets come from a file */
	struct pcapng *pcapng;	/* NULL: packets are printed */
	FILE *out;
	uint64_t packets, wrong;
};

static volatile sig_atomic_t ended;

static void on_signal(int sig)
{
	ended = 1;
}

/* True if the process matches option --program. Only the first 15 characters of names are compared (TASK_COMM_LEN). */
static bool who_is(const struct job *j, int pid, const char *comm)
{
	return j->o->pid ? pid == j->o->pid : !strncmp(comm, j->o->who, 15);
}

/*
 * True if the packet passes the filters of the options. --program selects packets that the process
 * sends or receives. A packet within this host is captured only by its sender, so an outgoing packet
 * also matches if its destination QP number belongs to the process.
 */
static bool capture_wants(struct job *j, const struct captured *p)
{
	const struct options *o = j->o;
	int peer;

	if (o->dev && strncmp(p->dev, o->dev, 19))
		return false;
	if (o->qpn >= 0 && p->dqpn != (uint64_t)o->qpn && p->sqpn != (uint64_t)o->qpn)
		return false;
	if (!o->who || who_is(j, p->pid, p->comm))
		return true;
	if (!j->live || p->in)
		return false;
	peer = live_pid_of(j->live, p->dqpn);
	return peer && who_is(j, peer, live_comm_of(j->live, peer));
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

/* captured_fn: filters and outputs a packet. 1: --count is reached. */
static int capture_packet(const struct captured *p, void *arg)
{
	struct captured c = *p;
	struct job *j = arg;
	enum frame_kind kind;
	struct frame f;

	if (ferror(j->out))
		return -EIO;
	kind = frame_parse(p->frame, p->caplen, &f);
	if (kind == FRAME_OTHER || f.len < BTH_LEN)
		return 0;
	if (!j->live) {
		struct bth bth;

		bth_get(f.packet, &bth);
		c.dqpn = bth.dqpn;
	}
	if (!capture_wants(j, &c))
		return 0;
	c.caplen = (uint32_t)min((long long)c.caplen, j->o->snaplen);
	if (j->pcapng)
		pcapng_packet(j->pcapng, &c);
	else
		print_packet(j, &c, &f, kind);
	j->wrong += kind == FRAME_ICRC;
	return ++j->packets == (uint64_t)j->o->count ? 1 : 0;
}

static int from_file(struct job *j)
{
	FILE *f = strcmp(j->o->read, "-") ? fopen(j->o->read, "rbe") : stdin;
	int rc;

	if (!f)
		return -errno;
	rc = capture_read(f, capture_packet, j);
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
		fflush(j->out);
	}
	if (!rc)
		rc = live_poll(j->live, true, capture_packet, j);
	return min(rc, 0);
}

/* Opens the output: --write FILE writes pcapng to a file, --write - to standard output; else text is printed. 0 or -errno. */
static int open_output(struct job *j)
{
	const char *path = j->o->write;

	j->out = path && strcmp(path, "-") ? fopen(path, "wbe") : stdout;
	if (!j->out)
		return -errno;
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
	if (j.out && (fflush(j.out) || ferror(j.out)) && !rc)
		rc = -EIO;
	if (j.out && j.out != stdout && fclose(j.out) && !rc)
		rc = -EIO;
	fprintf(stderr, "ruse capture: %" PRIu64 " packets, %" PRIu64 " lost", j.packets, lost);
	fprintf(stderr, j.wrong ? ", %" PRIu64 " with a wrong ICRC\n" : "\n", j.wrong);
	if (rc)
		fprintf(stderr, "ruse capture: %s\n",
			rc == -EPROTO ? "not a complete capture file of Ethernet frames" :
					strerror(-rc));
	return rc ? 1 : 0;
}

static bool option_number(const char *text, long long low, long long high, long long *v)
{
	char *rest;

	errno = 0;
	*v = strtoll(text, &rest, 0);
	return !errno && *text && !*rest && *v >= low && *v <= high;
}

/* Stores an option with an argument. False: the argument is invalid. */
static bool capture_option(struct options *o, int opt, const char *arg)
{
	long long pid;

	switch (opt) {
	case 'w':
		o->write = arg;
		return true;
	case 'r':
		o->read = arg;
		return true;
	case 'd':
		o->dev = arg;
		return true;
	case 'p':
		o->who = arg;
		o->pid = option_number(arg, 1, INT32_MAX, &pid) ? (long)pid : 0;
		return *arg;
	case 'q':
		return option_number(arg, 0, 0xffffff, &o->qpn);
	case 'c':
		return option_number(arg, 1, INT64_MAX, &o->count);
	case 's':
		return option_number(arg, 64, INT32_MAX, &o->snaplen);
	default:
		return false;
	}
}

static const char *capture_expects(int opt)
{
	return opt == 'q' ? "a QP number from 0 to 0xffffff" :
	       opt == 'c' ? "a number of packets, from 1" :
	       opt == 's' ? "a number of bytes, from 64" : "a process or the name of a program";
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
		{ "write", required_argument, NULL, 'w' },
		{ "read", required_argument, NULL, 'r' },
		{ "device", required_argument, NULL, 'd' },
		{ "qp", required_argument, NULL, 'q' },
		{ "program", required_argument, NULL, 'p' },
		{ "count", required_argument, NULL, 'c' },
		{ "snaplen", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	struct options o = { .qpn = -1, .snaplen = 256 << 10 };
	int opt;

	argv[0] = (char *)"ruse capture";	/* for getopt's messages */
	while ((opt = getopt_long(argc, argv, "w:r:d:q:p:c:s:h", options, NULL)) != -1) {
		if (opt == 'h') {
			capture_help();
			return 0;
		}
		if (opt == '?')
			return EXIT_USAGE;
		if (!capture_option(&o, opt, optarg)) {
			fprintf(stderr, "ruse capture: -%c: '%s' is not %s\n", opt, optarg,
				capture_expects(opt));
			return EXIT_USAGE;
		}
	}
	if (optind != argc) {
		fprintf(stderr, "ruse capture: unexpected argument '%s'\n", argv[optind]);
		return EXIT_USAGE;
	}
	if (o.read && o.who) {
		fputs("ruse capture: -p and -r exclude each other: a capture file does not hold the names of programs\n", stderr);
		return EXIT_USAGE;
	}
	if (o.dev && !o.read)
		capture_check_dev(o.dev);
	return capture_run(&o);
}
