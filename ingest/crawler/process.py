"""The crawling process: one job from standard input, Scrapy set up for it, progress on standard output."""

import json
import logging
import os
import sys
import threading
from pathlib import Path
from typing import Any

from scrapy.crawler import AsyncCrawlerProcess

from ingest.crawler.job import CrawlJob
from ingest.crawler.page_store import PageStore
from ingest.crawler.report import ProgressReport
from ingest.crawler.site import Site
from ingest.crawler.spider import SourceSpider

_PARENT_IS_GONE = 3
_OFF = (
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware",  # it drops the target of a redirect without a word
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware",
    "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware",
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware",
    "scrapy.downloadermiddlewares.httpcache.HttpCacheMiddleware",
)


def settings_of(job: CrawlJob) -> dict[str, Any]:
    """Scrapy's settings for a job."""
    source, limits = job.source, job.limits
    return {
        "USER_AGENT": job.user_agent,
        "DEFAULT_REQUEST_HEADERS": {
            "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,application/pdf;q=0.8,*/*;q=0.5",
            "Accept-Language": source.language or "it,es",
        },
        # Pace: one request at a time for each host, at the delay that is longest of the row's, the host's and the throttle's.
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "CONCURRENT_REQUESTS": 8,  # requests in line, of all hosts; those to a host that turns out to be down are tried in vain
        "DOWNLOAD_DELAY": source.delay_s,
        "DOWNLOAD_DELAY_JITTER": 0,  # at random it would be half of what was promised
        "AUTOTHROTTLE_ENABLED": True,
        "AUTOTHROTTLE_START_DELAY": source.delay_s,
        "AUTOTHROTTLE_MAX_DELAY": max(limits.max_delay_s, source.delay_s),
        "CRAWL_MAX_RETRY_AFTER": limits.max_retry_after_s,
        "CRAWL_RETRY_PAUSE": limits.retry_pause_s,
        "RETRY_TIMES": limits.retries,
        "RETRY_PRIORITY_ADJUST": 100,  # at once, so that a host that is down is soon known as such
        # Caps.
        "DOWNLOAD_TIMEOUT": limits.timeout_s,
        "DOWNLOAD_MAXSIZE": limits.max_bytes,
        "DOWNLOAD_WARNSIZE": 0,
        "CLOSESPIDER_TIMEOUT": limits.max_seconds,
        "REDIRECT_MAX_TIMES": 5,  # RFC 9309, section 2.3.1.2
        "DEPTH_LIMIT": 0,  # the frontier counts: there, a page that was known before has no depth
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        # Safety.
        "DOWNLOAD_VERIFY_CERTIFICATES": True,
        "TWISTED_DNS_RESOLVER": "ingest.crawler.resolver.PublicResolver",
        "CRAWL_PRIVATE_ORIGINS": sorted(Site.of(source).private_origins),
        "COOKIES_ENABLED": False,
        "REFERER_ENABLED": False,
        "METAREFRESH_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        # Conditional requests.
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_POLICY": "ingest.crawler.cache.AlwaysRevalidate",
        "HTTPCACHE_STORAGE": "ingest.crawler.cache.StoredPages",
        "CRAWL_IGNORE_CACHE": job.ignore_cache,
        "HTTPERROR_ALLOW_ALL": True,  # each status is an answer to note
        "DOWNLOADER_MIDDLEWARES": {
            **dict.fromkeys(_OFF),
            "ingest.crawler.guard.Guard": 50,
            "ingest.crawler.robots.RobotsRules": 100,
            "ingest.crawler.cache.Revalidation": 900,
            "ingest.crawler.guard.Decompression": 950,  # below the cache, which keeps plain bodies
        },
        "EXTENSIONS": {"scrapy.extensions.throttle.AutoThrottle": None, "ingest.crawler.pace.Pace": 0},
        "MEMUSAGE_ENABLED": False,
        "LOG_ENABLED": False,
        "LOG_INSTALL_ROOT_HANDLER": False,
        "LOG_VERSIONS": [],
        "STATS_DUMP": False,
        "RETRY_GIVE_UP_LOG_LEVEL": "DEBUG",
        "WARN_ON_GENERATOR_RETURN_VALUE": False,
    }


def main() -> int:
    """Do the job that the first line of standard input names; end at once when standard input closes."""
    job = CrawlJob.model_validate_json(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with PageStore.open(Path(job.store)) as store:
        store.begin()
        process = AsyncCrawlerProcess(settings_of(job))
        _log_faults_only()
        crawler = process.create_crawler(SourceSpider)
        process.crawl(crawler, job=job, store=store, report=ProgressReport(sys.stdout))
        process.start(install_signal_handlers=False)
        spider = crawler.spider
        return 0 if isinstance(spider, SourceSpider) and spider.closed_because is not None else 1


def _end_with_parent() -> None:
    """Wait for the end of standard input, which comes with the end of the parent, however that ends."""
    while os.read(0, 4096):
        pass
    os._exit(_PARENT_IS_GONE)


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        error = repr(record.exc_info[1]) if record.exc_info else None
        fields = {"level": record.levelname.lower(), "logger": record.name, "event": record.getMessage()[:500], "error": error}
        return json.dumps({name: value for name, value in fields.items() if value is not None})


def _log_faults_only() -> None:
    """What a publisher's server does is told in the visits; the log speaks of faults of this program."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    logging.root.handlers[:] = [handler]
    logging.root.setLevel(logging.ERROR)
    for name in ("scrapy", "twisted", "py.warnings"):
        logging.getLogger(name).setLevel(logging.ERROR)
